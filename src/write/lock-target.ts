import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { WriteTarget } from '../query/query'
import { metadataOf, setColumns, toEntity } from '../read/entity'
import { requireIfMatchHolds } from '../read/entity-tag'
import { type Row, rowReaderOf } from '../read/row'
import { lockItem } from '../read/select'
import type { Resource } from '../schema/registry'
import { isTarget } from './target-condition'

/**
 * A locked record, as a row and as two entities: one for the changes of the request, and one that stays as it is
 * stored.
 */
export interface LockedRecord {
  readonly raw: RawRow
  readonly row: Row
  /** Of the record's own class under single-table inheritance. */
  readonly metadata: EntityMetadata
  readonly entity: ObjectLiteral
  readonly stored: ObjectLiteral
}

/**
 * Locks and reads the record of a PUT or DELETE, and checks its owner and `If-Match`.
 * @returns undefined if the record does not exist any more or has another owner
 * @throws {ApiError} `precondition-failed`
 */
export async function lockTarget(
  session: DbTransaction,
  resource: Resource,
  target: WriteTarget,
): Promise<LockedRecord | undefined> {
  const { entityColumns } = resource
  const raw = await lockItem(session, resource, target.key)
  if (raw === undefined) return undefined
  // Read once for each entity: otherwise the entities would share objects that a transformer has created, and a
  // listener may change these in place.
  const read = rowReaderOf(entityColumns, session.dataSource)
  const readRow = (): Row => read(raw)
  const row = readRow()
  if (!isTarget(resource, row, target)) return undefined
  requireIfMatchHolds(resource, row, target)
  const metadata = metadataOf(resource, row)
  const [entity, stored] = [toEntity(resource, readRow()), toEntity(resource, readRow())]
  if (resource.lifecycle.load) {
    // Keep properties that load listeners set outside of columns, but reset the columns to the stored values, which
    // would otherwise be overwritten by what listeners show.
    await callListeners(session.runner, 'Load', metadata, [entity, stored])
    for (const loaded of [entity, stored]) setColumns(loaded, resource, readRow())
  }
  return { raw, row, metadata, entity, stored }
}
