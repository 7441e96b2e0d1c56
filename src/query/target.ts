import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { metadataOf, toEntity } from './entity'
import { hydrate, type Row } from './row'
import { lockRows, readRows } from './select'
import type { Session, Transaction } from './statement'
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

/** Reads the target of a write, which nobody else can write then. @returns undefined when there is none any more */
export async function lockTarget(session: Transaction, resource: Resource, target: Target): Promise<Found | undefined> {
  const { entityRow } = resource
  const [raw] = await lockRows(session, planItem(resource, target.key, entityRow))
  if (raw === undefined) return undefined
  // Twice, so that the two share no object: one is changed, in place too.
  const [row, before] = [hydrate(session.dataSource, entityRow, raw), hydrate(session.dataSource, entityRow, raw)]
  if (!isTarget(resource, row, target)) return undefined
  const metadata = metadataOf(resource, row)
  return { row, metadata, entity: toEntity(resource, row), stored: toEntity(resource, before) }
}
