import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { Policies } from '../query/policies'
import type { ChangeSet } from '../query/query'
import type { StoredRecord } from '../read/entity-tag'
import type { Store } from '../read/store'
import type { Field } from '../schema/field'

/** Store with everything else that writes need. It is built once for each view. */
export interface WriteStore extends Store {
  readonly writer: Writer
  /**
   * Foreign keys that are looked up before a write, because their constraint is missing or accepts too much: the collation
   * of a column treats different texts as equal, or the record exists but the principal may not see it.
   */
  readonly uncheckedReferences: ReadonlySet<Field>
  /** Names of the fields that PUT can update without reading the row first. */
  readonly fieldsWithoutRead: ReadonlySet<string>
}

/**
 * Adds the policies for the principal of a request to a store. The properties are copied one by one, because a spread
 * took an eighth of the time of a GET of an item.
 */
export function withPolicies(store: WriteStore, policies: Policies): WriteStore {
  const { view, dataSource, dialect, selected, rowRenderer, rawRenderer, renderKey, readKey, shownBytes, storeOf } =
    store
  const { writer, uncheckedReferences, fieldsWithoutRead } = store
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
  }
}

/**
 * Inserts, updates and deletes one record.
 * @template Session where the statements run: a `DbTransaction` for a writer that needs a transaction
 * @template Written what `insert` and `update` return: the record, or its raw row before it is rendered
 */
export interface Writer<Session = DbSession, Written = WrittenRecord> {
  readonly insert: (session: Session, store: Store, changes: ChangeSet) => Promise<Written>
  /** @returns undefined if the record no longer exists or no longer meets the conditions of the target */
  readonly update: (
    session: Session,
    store: Store,
    target: WriteTarget,
    changes: ChangeSet,
  ) => Promise<Written | undefined>
  /** @returns false if the record no longer exists or no longer meets the conditions of the target */
  readonly remove: (session: Session, store: Store, target: WriteTarget) => Promise<boolean>
}

/** Record that PUT, PATCH or DELETE writes, with the conditions that must be true when the statement runs. */
export interface WriteTarget {
  readonly action: 'update' | 'delete'
  readonly key: unknown
  /** Required value of the foreign key to the owner; undefined without the option `ownerField`. */
  readonly owner: unknown
  /**
   * Checks the stored row, which is locked until the write. Undefined if there is nothing to check.
   * @throws {ApiError} `precondition-failed`
   */
  readonly requireUnchanged: ((raw: RawRow) => void) | undefined
  /** Maximum size of the stored record, in bytes: `update` does not write a larger one. Undefined for no limit. */
  readonly maxBytes?: number
}

/** A written record: the raw row, its ETag, and the JSON of the response, which load listeners may have changed. */
export interface WrittenRecord extends StoredRecord {
  readonly raw: RawRow
}
