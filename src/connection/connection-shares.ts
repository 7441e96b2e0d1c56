import { ClientCounts } from '../access/client-counts'

/**
 * What a connection is used for. A write can wait for records that another transaction has locked. A stream reads a list for as long
 * as its client receives it.
 */
export type WorkKind = 'read' | 'write' | 'stream'

/** Work that needs a connection: a statement or a transaction of a client. */
export interface ClientWork {
  readonly client: string
  readonly kind: WorkKind
}

/** Part of a pool that writes can use. They may all wait for one locked record: with the other connections, reads go on. */
const maxShareOfWrites = 0.8

/**
 * Decides whether a client may use another connection of a pool: only if more connections are free than it has. A single client has
 * at most half of the pool, rounded up, and a few clients with slow statements leave connections to the others. Streams are counted
 * separately, so that a client that exports records can still read and write.
 */
export class ConnectionShares {
  /** Connections that are used for reads and writes. */
  readonly #used = new ClientCounts()
  readonly #writes = new ClientCounts()
  readonly #streams = new ClientCounts()
  readonly #maxWrites: number
  readonly #maxWritesAndStreams: number

  /** @param poolSize number of connections */
  constructor(private readonly poolSize: number) {
    this.#maxWrites = Math.max(1, Math.floor(poolSize * maxShareOfWrites))
    // Listeners and validators may query through the data source during a write. If writes and streams had all connections, they
    // would wait for each other.
    this.#maxWritesAndStreams = Math.max(1, poolSize - 1)
  }

  /** Whether this work may use another connection. It may still have to wait for the pool. */
  allows({ client, kind }: ClientWork): boolean {
    if (!mayUseAnother(this.#used, client, this.poolSize - this.#streams.total)) return false
    if (kind === 'read') return true
    if (this.#writes.total + this.#streams.total >= this.#maxWritesAndStreams) return false
    return kind === 'stream'
      ? mayUseAnother(this.#streams, client, this.poolSize - this.#used.total)
      : mayUseAnother(this.#writes, client, this.#maxWrites)
  }

  /** Whether all connections are used. */
  get areUsed(): boolean {
    return this.#used.total + this.#streams.total >= this.poolSize
  }

  /**
   * Whether a client uses connections already, so that it needs several free ones for this work, and could use another one if the other
   * clients neither read nor wrote.
   */
  couldAllow({ client, kind }: ClientWork): boolean {
    const [used, writes, streams] = [this.#used.of(client), this.#writes.of(client), this.#streams.of(client)]
    const usedForKind = kind === 'stream' ? used + streams : used
    if (usedForKind === 0 || used >= this.poolSize - this.#streams.total - used) return false
    if (kind === 'read') return true
    if (writes + this.#streams.total >= this.#maxWritesAndStreams) return false
    return kind === 'stream' ? streams < this.poolSize - used - this.#streams.total : writes < this.#maxWrites - writes
  }

  /** Counts a connection that is used for this work. */
  add({ client, kind }: ClientWork): void {
    if (kind === 'stream') this.#streams.add(client)
    else this.#used.add(client)
    if (kind === 'write') this.#writes.add(client)
  }

  remove({ client, kind }: ClientWork): void {
    if (kind === 'stream') this.#streams.remove(client)
    else this.#used.remove(client)
    if (kind === 'write') this.#writes.remove(client)
  }
}

/** @param size number of connections that all clients together can use */
function mayUseAnother(used: ClientCounts, client: string, size: number): boolean {
  return used.of(client) < size - used.total
}
