import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { metadataOf, toEntity } from './entity'
import type { Row } from './row'
import { fetchRows, readRows } from './select'
import type { Session } from './statement'
import { isTarget } from './write'

/** A stored record as entities: one to change, and one as it was. */
export interface Found {
  readonly row: Row
  /** Of its own type, under single-table inheritance. */
  readonly metadata: EntityMetadata
  readonly entity: ObjectLiteral
  readonly stored: ObjectLiteral
}

/** The record of a key, as it is answered. */
export async function fetchRow(session: Session, resource: Resource, key: unknown): Promise<Row | undefined> {
  const [row] = await fetchRows(session, planItem(resource, key))
  return row
}

/** Reads the target of a write, which nobody else can write then. @returns undefined when there is none any more */
export async function readTarget(session: Session, resource: Resource, target: Target): Promise<Found | undefined> {
  const [row] = await readRows(session, planItem(resource, target.key), true)
  if (row === undefined || !isTarget(resource, row, target)) return undefined
  const metadata = metadataOf(resource, row)
  return { row, metadata, entity: toEntity(resource, row), stored: toEntity(resource, row) }
}
