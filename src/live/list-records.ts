import { createHash, randomBytes } from 'node:crypto'
import type { WaitingClient } from '../connection/db-session'
import { type LiveSource, tooManyBytes, tooManyRecords } from './live-source'

/** Event of a live list about one record. */
export interface ListEvent {
  readonly name: 'created' | 'updated' | 'gone'
  /** JSON. */
  readonly data: string
}

/** What a read of records has found. */
export interface ListChanges {
  /** In the order of the changes that the read was for; undefined if there are more than {@link maxEvents}. */
  readonly events: readonly ListEvent[] | undefined
  /** The whole list as JSON, if the read was to keep it. */
  readonly whole: readonly string[]
  /** Whether all records must be read: a changed record was not found, which may have its key in another spelling. */
  readonly isIncomplete: boolean
}

/** Which records to read. */
export interface RecordsToRead {
  /** Keys of the records that have changed, in the order of the changes. */
  readonly changed: readonly string[]
  /** Whether others may have changed too, so that all records are read. */
  readonly all: boolean
  /** Whether to keep the whole list. */
  readonly keepsWhole: boolean
  /** Is closed when nobody waits for the read any more. */
  readonly client: WaitingClient
}

/** Maximum number of events of one read. */
const maxEvents = 500

/**
 * Number of characters of a key for which its record counts once more towards `limits.allLiveRecords`: lists store keys. 60
 * lists of 7,500 records with keys of 1,000 characters took 460 MB.
 */
const charactersPerCount = 64

/** Number of records as which the record with this key counts towards `limits.allLiveRecords`. */
function countOf(id: string): number {
  return 1 + Math.floor(id.length / charactersPerCount)
}

/** The records of a live list: their keys, and digests by which changes are recognized. */
export class ListRecords {
  readonly #digests = new Map<string, number>()
  #count = 0
  #wasRead = false

  constructor(readonly source: LiveSource) {}

  /** Number of records in the list. */
  get size(): number {
    return this.#digests.size
  }

  /** Number of records as which the list counts towards `limits.allLiveRecords`. */
  get count(): number {
    return this.#count
  }

  /** Those of the changed records that can change the list, by their keys. A live item ignores changes of other records. */
  relevantOf(ids: readonly string[]): readonly string[] {
    return this.source.isItem && this.#digests.size > 0 ? ids.filter((id) => this.#digests.has(id)) : ids
  }

  /**
   * Reads records and compares them with the digests. The first read has no events.
   * @throws {ApiError} `bad-query` if the records are too many or too large; and the errors of the source
   */
  async read({ changed, all, keepsWhole, client }: RecordsToRead): Promise<ListChanges> {
    const { source } = this
    const missing = new Set(all ? this.#digests.keys() : changed)
    const whole: string[] = []
    let bytes = 0
    // Stored after all records are read: after an error, there must be no digests of changes that were not sent.
    const newDigests = new Map<string, number>()
    const events = new Map<string, ListEvent>()
    let eventCount = 0
    const addEvent = (id: string, name: ListEvent['name'], data: string): void => {
      eventCount += 1
      if (eventCount <= maxEvents) events.set(id, { name, data })
    }
    const receive = (id: string, json: string): void => {
      missing.delete(id)
      bytes += Buffer.byteLength(json)
      if (bytes > source.maxBytes) throw tooManyBytes(source.maxBytes)
      if (keepsWhole) whole.push(json)
      const digest = digestOf(json)
      const known = this.#digests.get(id)
      if (known === digest) return
      newDigests.set(id, digest)
      if (this.#wasRead) addEvent(id, known === undefined ? 'created' : 'updated', json)
    }
    await source.read(all ? undefined : changed, receive, client)
    for (const [id, digest] of newDigests) {
      if (!this.#digests.has(id)) this.#count += countOf(id)
      this.#digests.set(id, digest)
    }
    let isIncomplete = false
    for (const id of missing) {
      if (this.#digests.delete(id)) {
        this.#count -= countOf(id)
        addEvent(id, 'gone', JSON.stringify({ id: source.idOf(id) }))
      }
      // The change may name the key in another spelling than the record.
      else if (source.comparesKeysLoosely && !all) isIncomplete = true
    }
    if (this.#digests.size > source.maxRecords) throw tooManyRecords(source.maxRecords)
    this.#wasRead = true
    const ids = new Set([...changed, ...events.keys()])
    const inOrder = [...ids].flatMap((id) => events.get(id) ?? [])
    return { events: eventCount > maxEvents ? undefined : inOrder, whole, isIncomplete }
  }
}

/** Without a secret, a client could compute two states of a record with the same short digest, and hide its change. */
const secret = randomBytes(32)

/** The first 48 bits of the SHA-256 of a secret and a text, as an integer: it takes less memory than a text. */
function digestOf(text: string): number {
  return createHash('sha256').update(secret).update(text).digest().readUIntBE(0, 6)
}
