import type { QueryRunner } from 'typeorm'
import type { AuditLog, ChangeEvent, ChangeListener, ChangeObserver } from '../connection/change-events'
import type { ChangeFeed, TableChange } from '../connection/change-feed'
import type { DbTransaction } from '../connection/db-session'
import { channels } from '../diagnostics'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

/** The listeners of a mount's changes, and the subscribers of the channel `typeorm-resources:change`. */
export class ChangeListeners implements ChangeObserver<DbTransaction> {
  readonly #listeners = new Set<ChangeListener>()
  /** Set when the data source is initialized. */
  auditLog: AuditLog<DbTransaction> | undefined

  /**
   * @param feed the changes of the data source, for live lists
   * @param report receives the errors of listeners
   */
  constructor(
    readonly feed: ChangeFeed,
    readonly report: (error: unknown) => void,
  ) {}

  /** @returns a function that removes the listener */
  add(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  get isObserved(): boolean {
    return this.feed.isActive || this.needsTransaction
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0 || channels.change.hasSubscribers
  }

  get needsTransaction(): boolean {
    return this.auditLog !== undefined || this.hasListeners || this.feed.announces
  }

  publish(changes: readonly ChangeEvent[]): void {
    for (const change of changes) {
      if (channels.change.hasSubscribers) channels.change.publish(change)
      for (const listener of this.#listeners) this.#call(listener, change)
    }
  }

  recordTable(runner: QueryRunner | undefined, change: TableChange): void {
    this.feed.record(runner, change)
  }

  settle(runner: QueryRunner): void {
    this.feed.settle(runner)
  }

  /**
   * Calls a listener, and reports its error. This is not an `async` function, because it would create promises for each of many
   * changes, which take most of the time and memory.
   */
  #call(listener: ChangeListener, change: ChangeEvent): void {
    try {
      const result = listener(change)
      if (isObject(result)) void Promise.resolve(result).catch((error: unknown) => this.report(error))
    } catch (error) {
      this.report(error)
    }
  }
}
