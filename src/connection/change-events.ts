import type { QueryRunner } from 'typeorm'
import type { Principal } from '../access/rule'
import type { WriteAction } from '../schema/resource-view'
import type { Json } from '../value/value-type'
import type { TableChange } from './change-feed'

/** Committed change of a record by a request. */
export interface ChangeEvent {
  /** Name of the resource. */
  readonly resource: string
  readonly action: WriteAction
  /** The key of the record, as records show it. */
  readonly id: Json
  /** Principal of the request. */
  readonly principal: Principal
  /** Names of the fields that were written, also of hidden ones. Empty for a deletion and a restored record. */
  readonly fields: readonly string[]
}

/** Function of the application that receives changes. A promise that it returns is not awaited. */
export type ChangeListener = (event: ChangeEvent) => unknown

/** A change with the values that it has replaced. */
export interface AuditedChange extends ChangeEvent {
  /** The fields whose values are different, with the values as records show them; without values for a hidden field. */
  readonly changes: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>
}

/** Stores changes in the transaction that makes them. @template Transaction session of the transaction */
export interface AuditLog<Transaction> {
  readonly insert: (session: Transaction, changes: readonly AuditedChange[]) => Promise<void>
}

/** Passes the changes of a mount to their listeners. @template Transaction session of a transaction */
export interface ChangeObserver<Transaction> {
  /** Whether changes must be recorded, because there are listeners, an audit log or live lists. */
  readonly isObserved: boolean
  /** Whether there are listeners, for which changes are kept in memory until their commit. */
  readonly hasListeners: boolean
  /**
   * Whether each write must be in a transaction that records its changes. Live lists alone do not need one: they read the
   * changed records after the write.
   */
  readonly needsTransaction: boolean
  /** Undefined without the option `audit`. */
  readonly auditLog: AuditLog<Transaction> | undefined
  /** Calls the listeners, for each change in its order. It never throws. */
  readonly publish: (changes: readonly ChangeEvent[]) => void
  /**
   * Records changes of a table for the live lists. They are delivered when the transaction of the query runner is committed,
   * or at once without a query runner.
   */
  readonly recordTable: (runner: QueryRunner | undefined, change: TableChange) => void
  /** Delivers the changes of a transaction whose COMMIT has failed: it may have been committed. */
  readonly settle: (runner: QueryRunner) => void
}

/** Observer without listeners, audit log and live lists. */
export const noObserver: ChangeObserver<unknown> = {
  isObserved: false,
  hasListeners: false,
  needsTransaction: false,
  auditLog: undefined,
  publish: () => undefined,
  recordTable: () => undefined,
  settle: () => undefined,
}
