import type { DbSession, DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { FieldErrors } from '../errors'
import type { Policies } from '../query/policies'
import type { ChangeSet, ListQuery } from '../query/query'
import type { StoredRecord } from '../read/entity-tag'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { Change } from './change'

/** Store with everything else that writes need. It is built once for each view. */
export interface WriteStore extends Store {
  readonly writer: Writer
  /**
   * Foreign keys that are looked up before a write, because their constraint is missing or accepts too much: the collation of
   * a column treats different texts as equal, or policies of the database hide records.
   */
  readonly uncheckedReferences: ReadonlySet<Field>
  /** Names of the fields that PUT can update without reading the row first. */
  readonly fieldsWithoutRead: ReadonlySet<string>
  /** Returns the store of a related view of the same principal, without policies. */
  readonly writeStoreOf: (view: ResourceView) => WriteStore
}

/**
 * Adds the policies for the principal of a request to a store. The properties are copied one by one, because a spread
 * took an eighth of the time of a GET of an item.
 */
export function withPolicies(store: WriteStore, policies: Policies): WriteStore {
  const { view, dataSource, dialect, selected, rowRenderer, rawRenderer, renderKey, readKey, shownBytes, storeOf } =
    store
  const { writer, uncheckedReferences, fieldsWithoutRead, writeStoreOf } = store
  return {
    view,
    dataSource,
    dialect,
    selected,
    rowRenderer,
    rawRenderer,
    renderKey,
    readKey,
    shownBytes,
    storeOf,
    policies,
    writer,
    uncheckedReferences,
    fieldsWithoutRead,
    writeStoreOf,
  }
}

/**
 * Inserts, updates, deletes and restores one record.
 * @template Session where the statements run: a `DbTransaction` for a writer that needs a transaction
 * @template Written what `insert` and `update` return: the record, or its raw row before it is rendered
 */
export interface Writer<Session = DbSession, Written = WrittenRecord> {
  readonly insert: (session: Session, store: Store, changes: ChangeSet) => Promise<Written>
  /** Inserts several records in order, in the transaction of the session. Errors of a record are added to its errors. */
  readonly insertMany: (
    session: DbTransaction,
    store: Store,
    records: readonly NewRecord[],
  ) => Promise<readonly RawRow[]>
  /** @returns undefined if the record no longer exists or no longer meets the conditions of the target */
  readonly update: (
    session: Session,
    store: Store,
    target: WriteTarget,
    changes: ChangeSet,
  ) => Promise<Written | undefined>
  /**
   * Takes the lock of a whole table that the writer needs. It is called before records are locked for `updateMany` and
   * `removeMany`: a transaction that locked rows first would cause a deadlock with one that writes the rows under this lock.
   */
  readonly lockTable?: (session: DbTransaction, store: Store) => Promise<void>
  /** Updates several locked records to the same values. */
  readonly updateMany: (
    session: DbTransaction,
    store: Store,
    targets: WriteTargets,
    changes: ChangeSet,
  ) => Promise<void>
  /**
   * Updates or deletes the records that match a query, by one statement; undefined if each record must be read first.
   * @returns the number of records
   */
  readonly matching?: {
    readonly update: (session: DbTransaction, store: Store, query: ListQuery, changes: ChangeSet) => Promise<number>
    readonly remove: (session: DbTransaction, store: Store, query: ListQuery) => Promise<number>
  }
  /** Deletes several locked records. */
  readonly removeMany: (session: DbTransaction, store: Store, targets: WriteTargets) => Promise<void>
  /** @returns false if the record no longer exists or no longer meets the conditions of the target */
  readonly remove: (session: Session, store: Store, target: WriteTarget) => Promise<boolean>
  /**
   * Restores a soft-deleted record.
   * @returns undefined if the record no longer exists, is no longer deleted or no longer meets the conditions of the target
   */
  readonly restore: (session: Session, store: Store, target: WriteTarget) => Promise<Written | undefined>
}

/** One of several records to insert. */
export interface NewRecord {
  readonly values: ChangeSet
  /** See {@link Change.presets}. */
  readonly presets?: Change['presets']
  /** Receives the errors of this record. */
  readonly errors: FieldErrors
}

/** Record that a write changes, with the conditions that must be true when the statement runs. */
export interface WriteTarget {
  readonly action: 'update' | 'delete' | 'restore'
  readonly key: unknown
  /** Required value of the foreign key to the owner; undefined without the option `ownerField`. */
  readonly owner: unknown
  /**
   * Checks the stored row, which is locked until the write. Undefined if there is nothing to check.
   * @throws {ApiError} `precondition-failed`
   */
  readonly requireUnchanged: ((raw: RawRow) => void) | undefined
  /**
   * Whether the transaction has locked the row and checked it, so that the writer does not check the row scope and the
   * permission again. Default: false.
   */
  readonly isLocked?: boolean
  /** Maximum size of the stored record, in bytes: `update` does not write a larger one. Undefined for no limit. */
  readonly maxBytes?: number
}

/** Several locked records that PATCH or DELETE writes. */
export interface WriteTargets {
  readonly keys: readonly unknown[]
  /** See {@link WriteTarget.owner}. */
  readonly owner: unknown
}

/** A written record: the raw row, its ETag, and the JSON of the response, which load listeners may have changed. */
export interface WrittenRecord extends StoredRecord {
  readonly raw: RawRow
}
