import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import { broadcast } from './broadcast'
import type { Transaction } from './connection'
import { metadataOf, putRow, toEntity } from './entity'
import { requireState } from './entity-tag'
import { type Row, readerOf } from './row'
import { lockItem } from './select'
import type { RawRow } from './statement'
import { isTarget } from './target-condition'

/** A stored record as entities: one to change, and one as it was. */
export interface Found {
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
export async function lockTarget(session: Transaction, resource: Resource, target: Target): Promise<Found | undefined> {
  const { entityRow } = resource
  const raw = await lockItem(session, resource, target.key)
  if (raw === undefined) return undefined
  // Each time anew, so that entities share no object that a transformer makes: one is changed, in place too.
  const read = readerOf(entityRow, session.dataSource)
  const readRow = (): Row => read(raw)
  const row = readRow()
  if (!isTarget(resource, row, target)) return undefined
  requireState(resource, row, target)
  const metadata = metadataOf(resource, row)
  const [entity, stored] = [toEntity(resource, readRow()), toEntity(resource, readRow())]
  if (resource.lifecycle.load) {
    // What listeners remember of a record stays; its columns are as they are stored, not as they are shown.
    await broadcast(session.runner, 'Load', metadata, [entity, stored])
    for (const loaded of [entity, stored]) putRow(loaded, resource, readRow())
  }
  return { raw, row, metadata, entity, stored }
}
