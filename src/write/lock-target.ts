import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { WriteTarget } from '../query/query'
import { metadataOf, putRow, toEntity } from '../read/entity'
import { requireState } from '../read/entity-tag'
import { type Row, readerOf } from '../read/row'
import { lockItem } from '../read/select'
import type { Resource } from '../schema/registry'
import { isTarget } from './target-condition'

/** A stored record as entities: one to change, and one as it was. */
export interface LockedRecord {
  readonly raw: RawRow
  readonly row: Row
  /** Of its own type, under single-table inheritance. */
  readonly metadata: EntityMetadata
  readonly entity: ObjectLiteral
  readonly stored: ObjectLiteral
}

/**
 * Reads the target of a write, which nobody else can write then.
 * @returns undefined when there is none any more
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
  // Each time anew, so that entities share no object that a transformer makes: one is changed, in place too.
  const read = readerOf(entityColumns, session.dataSource)
  const readRow = (): Row => read(raw)
  const row = readRow()
  if (!isTarget(resource, row, target)) return undefined
  requireState(resource, row, target)
  const metadata = metadataOf(resource, row)
  const [entity, stored] = [toEntity(resource, readRow()), toEntity(resource, readRow())]
  if (resource.lifecycle.load) {
    // What listeners remember of a record stays; its columns are as they are stored, not as they are shown.
    await callListeners(session.runner, 'Load', metadata, [entity, stored])
    for (const loaded of [entity, stored]) putRow(loaded, resource, readRow())
  }
  return { raw, row, metadata, entity, stored }
}
