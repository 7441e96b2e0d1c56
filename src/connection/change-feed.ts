import type { DataSource, EntityMetadata, EntitySubscriberInterface, ObjectLiteral, QueryRunner } from 'typeorm'
import { observingSubscriber } from '../schema/lifecycle'
import { sharedByCopies } from '../shared-state'

/** Changes of the records of one table, which the database has committed. */
export interface TableChange {
  /** Path of the table as TypeORM names it: `task`, or `crm.task`. */
  readonly table: string
  /** Keys of the records, as texts; undefined if they are not known, so that every record may have changed. */
  readonly ids: readonly string[] | undefined
  /** Whether records were deleted, so that foreign keys may have changed records of other tables. */
  readonly isDeletion: boolean
}

/** Receives the changes of one transaction; undefined if changes may have been missed, so that every record may have changed. */
export type ReceiveChanges = (changes: readonly TableChange[] | undefined) => void

/** Receiver of the changes of a data source. */
export interface FeedListener {
  readonly receive: ReceiveChanges
  /** Called before the data source is closed. */
  readonly end: () => void
}

/** Passes changes to the other processes of a site, and receives theirs. */
export interface Relay {
  /**
   * Announces changes in the transaction that makes them, so that they arrive if it is committed, and only then. Undefined if
   * the relay can only send committed changes.
   */
  readonly announce?: (runner: QueryRunner, changes: readonly TableChange[]) => Promise<void>
  /** Sends committed changes. It never throws. */
  readonly send: (changes: readonly TableChange[]) => void
  readonly close: () => Promise<void>
}

/** Connects a relay. @param receive receives the changes of other processes */
export type OpenRelay = (receive: ReceiveChanges) => Relay

/** Maximum number of keys of one table that are kept for a transaction. With more, they count as not known. */
const maxIds = 1000

/** Changes of a transaction that is not committed yet, by table. */
interface Pending {
  readonly tables: Map<string, { ids: Set<string> | undefined; isDeletion: boolean }>
  /**
   * Whether COMMIT has begun. The relay, if there is one, has then announced the changes, and an error does not tell whether
   * they were committed.
   */
  isCommitting: boolean
}

/**
 * The committed changes of a data source: those of this service, and those that the application makes with TypeORM, which a
 * TypeORM subscriber records. A change may be reported although it was rolled back to a savepoint, and a statement of a
 * query builder is reported without keys. Therefore listeners read the records to find out what has changed.
 */
export class ChangeFeed {
  readonly #listeners = new Set<FeedListener>()
  readonly #pending = new WeakMap<QueryRunner, Pending>()
  readonly #subscriber = buildSubscriber(this)
  #relay: Relay | undefined

  constructor(readonly dataSource: DataSource) {}

  /** Whether there is a listener or a relay. Without them, changes are not recorded. */
  get isActive(): boolean {
    return this.#listeners.size > 0 || this.#relay !== undefined
  }

  /** Observes the changes of the application. Must be called each time that the data source is initialized. */
  observe(openRelay: OpenRelay | undefined): void {
    const subscribers = this.dataSource.subscribers as EntitySubscriberInterface[]
    if (!subscribers.includes(this.#subscriber)) subscribers.push(this.#subscriber)
    this.#relay ??= openRelay?.((changes) => this.#deliver(changes))
  }

  add(listener: FeedListener): void {
    this.#listeners.add(listener)
  }

  /** Whether the relay announces changes in the transaction that makes them. */
  get announces(): boolean {
    return this.#relay?.announce !== undefined
  }

  /** Records a change. It is delivered when the transaction of the query runner is committed, or at once without one. */
  record(runner: QueryRunner | undefined, { table, ids, isDeletion }: TableChange): void {
    if (!this.isActive) return
    if (!runner?.isTransactionActive) {
      this.#publish([{ table, ids, isDeletion }])
      return
    }
    const pending = this.#pending.get(runner) ?? { tables: new Map(), isCommitting: false }
    this.#pending.set(runner, pending)
    const known = pending.tables.get(table) ?? { ids: new Set<string>(), isDeletion: false }
    pending.tables.set(table, known)
    pending.isCommitting = false
    known.isDeletion ||= isDeletion
    for (const id of ids ?? []) known.ids?.add(id)
    if (ids === undefined || (known.ids?.size ?? 0) > maxIds) known.ids = undefined
  }

  /** Announces the changes of a transaction that is about to be committed. */
  async announce(runner: QueryRunner): Promise<void> {
    const pending = this.#pending.get(runner)
    if (pending === undefined || pending.isCommitting) return
    pending.isCommitting = true
    await this.#relay?.announce?.(runner, changesOf(pending))
  }

  /**
   * Lets {@link announce} announce the changes again. Called after a rollback to a savepoint, which has removed the
   * notifications that were sent after the savepoint.
   */
  announceAgain(runner: QueryRunner): void {
    const pending = this.#pending.get(runner)
    if (pending !== undefined) pending.isCommitting = false
  }

  /** Delivers the changes of a transaction that was committed, or whose COMMIT has failed: it may have been committed. */
  settle(runner: QueryRunner): void {
    const pending = this.#pending.get(runner)
    this.#pending.delete(runner)
    if (pending === undefined) return
    this.#publish(changesOf(pending), pending.isCommitting)
  }

  /** Drops the changes of a transaction that was rolled back, unless COMMIT has begun: then it may have succeeded. */
  rollBack(runner: QueryRunner): void {
    if (this.#pending.get(runner)?.isCommitting) this.settle(runner)
    else this.#pending.delete(runner)
  }

  /** Ends the live lists. Changes are still passed on to other processes. */
  end(): void {
    for (const { end } of this.#listeners) end()
    this.#listeners.clear()
  }

  /** Ends the live lists and closes the relay. */
  async close(): Promise<void> {
    this.end()
    const relay = this.#relay
    this.#relay = undefined
    await relay?.close()
  }

  #publish(changes: readonly TableChange[], isCommitting = false): void {
    this.#deliver(changes)
    if (!isCommitting || this.#relay?.announce === undefined) this.#relay?.send(changes)
  }

  #deliver(changes: readonly TableChange[] | undefined): void {
    for (const { receive } of this.#listeners) receive(changes)
  }
}

function changesOf({ tables }: Pending): readonly TableChange[] {
  return [...tables].map(([table, { ids, isDeletion }]) => ({ table, ids: ids && [...ids], isDeletion }))
}

const feeds = sharedByCopies('changeFeeds', () => new WeakMap<DataSource, ChangeFeed>())

/** The feed of a data source, which all its mounts share. */
export function changeFeedOf(dataSource: DataSource): ChangeFeed {
  const feed = feeds.get(dataSource) ?? new ChangeFeed(dataSource)
  feeds.set(dataSource, feed)
  return feed
}

/** Properties that the events of TypeORM have in common. */
interface EntityEvent {
  readonly queryRunner: QueryRunner
  readonly metadata: EntityMetadata
  readonly entity?: ObjectLiteral | undefined
  readonly databaseEntity?: ObjectLiteral | undefined
  readonly entityId?: ObjectLiteral | undefined
}

/** Builds the subscriber that records the changes of the application. */
function buildSubscriber(feed: ChangeFeed): EntitySubscriberInterface {
  const record = (
    { queryRunner, metadata }: EntityEvent,
    stored: ObjectLiteral | undefined,
    isDeletion = false,
  ): void => {
    const id = keyOf(metadata, stored)
    feed.record(queryRunner, { table: metadata.tablePath, ids: id === undefined ? undefined : [id], isDeletion })
  }
  return Object.assign(
    {
      // In the events of a query builder, `entity` has the values of the statement, whose key may be that of another record.
      // Only `save` and `remove` set `entityId` and `databaseEntity`: without them, the key is not known.
      afterInsert: (event: EntityEvent) => record(event, event.entityId && event.entity),
      afterUpdate: (event) => record(event, event.databaseEntity),
      afterRemove: (event) => record(event, event.databaseEntity, true),
      afterSoftRemove: (event) => record(event, event.databaseEntity),
      afterRecover: (event) => record(event, event.databaseEntity),
      beforeTransactionCommit: ({ queryRunner }) => feed.announce(queryRunner),
      // A nested transaction is a savepoint: only the end of the outer one is the end of the transaction.
      afterTransactionCommit: ({ queryRunner }) => {
        if (!queryRunner.isTransactionActive) feed.settle(queryRunner)
      },
      afterTransactionRollback: ({ queryRunner }) => {
        if (queryRunner.isTransactionActive) feed.announceAgain(queryRunner)
        else feed.rollBack(queryRunner)
      },
    } satisfies EntitySubscriberInterface,
    { [observingSubscriber]: true },
  )
}

/** The key of an entity as a text. @returns undefined for a key of several columns, or one that a transformer changes */
function keyOf({ primaryColumns }: EntityMetadata, entity: ObjectLiteral | undefined): string | undefined {
  const [column, ...others] = primaryColumns
  if (entity === undefined || column === undefined || others.length > 0 || column.transformer !== undefined) {
    return undefined
  }
  const value: unknown = column.getEntityValue(entity)
  return ['string', 'number', 'bigint'].includes(typeof value) ? String(value) : undefined
}
