import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { broadcast } from './broadcast'
import type { Session, Transaction } from './connection'
import { metadataOf, putRow, toEntity } from './entity'
import { requireState } from './entity-tag'
import { type Row, readerOf } from './row'
import { lockRows, readRows } from './select'
import { isTarget } from './values'

/** A stored record as entities: one to change, and one as it was. */
export interface Found {
  readonly row: Row
  /** Of its own type, under single-table inheritance. */
  readonly metadata: EntityMetadata
  readonly entity: ObjectLiteral
  readonly stored: ObjectLiteral
}

/** The record of a key, as it is stored. */
export async function readRow(session: Session, resource: Resource, key: unknown): Promise<Row | undefined> {
  const [row] = await readRows(session, planItem(resource, key))
  return row
}

/**
 * Reads the target of a write, which nobody else can write then.
 * @returns undefined when there is none any more
 * @throws {ApiError} `precondition-failed`
 */
export async function lockTarget(session: Transaction, resource: Resource, target: Target): Promise<Found | undefined> {
  const { entityRow } = resource
  const [raw] = await lockRows(session, planItem(resource, target.key, 'entityRow'))
  if (raw === undefined) return undefined
  // Each time anew, so that entities share no object: one is changed, in place too.
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
  return { row, metadata, entity, stored }
}
