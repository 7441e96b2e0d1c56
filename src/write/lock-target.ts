import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { metadataOf, setColumns, toEntity } from '../read/entity'
import { relationsWithOwnKey, setRelatedKeys } from '../read/related-keys'
import type { Row } from '../read/row'
import { lockItem, readWrittenItem } from '../read/select'
import type { Store } from '../read/store'
import { isOwnedBy } from './target-condition'
import type { WriteTarget } from './write-store'

/** A locked row, as the driver returns it and as values. */
export interface LockedRow {
  readonly raw: RawRow
  readonly row: Row
}

/**
 * Locks and reads the row of a PUT or DELETE, and checks its owner and that it is unchanged.
 * @returns undefined if the record does not exist any more, has another owner, or the principal may not see it or write it
 * @throws the refusal of the target's check
 */
export async function lockTarget(
  session: DbTransaction,
  store: Store,
  target: WriteTarget,
): Promise<LockedRow | undefined> {
  const { key, action, isLocked } = target
  const raw = isLocked
    ? await readWrittenItem(session, store, key, 'entityColumns')
    : await lockItem(session, store, key, action)
  if (raw === undefined) return undefined
  const row = store.selected.entityColumns.readRow(raw)
  if (!isOwnedBy(store.view, row, target.owner)) return undefined
  target.requireUnchanged?.(raw)
  return { raw, row }
}

/**
 * A locked record, as a row and as two entities: one for the changes of the request, and one that stays as it is
 * stored.
 */
export interface LockedRecord extends LockedRow {
  /** Metadata of the record's own class, which may be a subclass under single-table inheritance. */
  readonly metadata: EntityMetadata
  readonly entity: ObjectLiteral
  /** `event.databaseEntity` of subscribers. It has the keys of all to-one relations. */
  readonly stored: ObjectLiteral
}

/** Locks and reads a row like {@link lockTarget}, and creates the entities for listeners. */
export async function lockEntities(
  session: DbTransaction,
  store: Store,
  target: WriteTarget,
): Promise<LockedRecord | undefined> {
  const locked = await lockTarget(session, store, target)
  if (locked === undefined) return undefined
  const { view, selected } = store
  const { raw, row } = locked
  // Read once for each entity: otherwise the entities would share objects that a transformer has created, and a
  // listener may change these in place.
  const readRow = (): Row => selected.entityColumns.readRow(raw)
  const metadata = metadataOf(view, row)
  const [entity, stored] = [toEntity(view, readRow()), toEntity(view, readRow())]
  if (view.lifecycle.load) {
    // Keep properties that load listeners set outside of columns, but reset the columns to the stored values, which
    // would otherwise be overwritten by what listeners show.
    await callListeners(session.runner, 'Load', metadata, [entity, stored])
    for (const loaded of [entity, stored]) setColumns(loaded, view, readRow())
  }
  setRelatedKeys(entity, view, readRow(), relationsWithOwnKey(metadata))
  setRelatedKeys(stored, view, readRow(), metadata.relationsWithJoinColumns)
  return { raw, row, metadata, entity, stored }
}
