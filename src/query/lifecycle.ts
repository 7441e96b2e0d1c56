import { isDeepStrictEqual } from 'node:util'
import type { QueryRunner } from 'typeorm'
import type { ChangeSet, Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { assign, changedValues, columnValues, metadataOf, newEntity, toEntity } from './entity'
import { refuseDelete, refuseWrite } from './refuse-write'
import { fieldValue, type Row } from './row'
import { fetchRows, readRows } from './select'
import { type Session, transact } from './statement'
import { deleteValues, insertValues, isTarget, updateValues } from './write'

/**
 * Inserts one record. Listeners and subscribers hear of it as from TypeORM's repository, in one transaction with it.
 * @throws {ApiError} `conflict`, `bad-values`
 */
export async function insertRow(session: Session, resource: Resource, changes: ChangeSet): Promise<Row> {
  const entity = newEntity(resource, changes)
  try {
    if (!resource.lifecycle.write) return await insertValues(session, resource, entity)
    return await heard(session, async (inner, { broadcaster }) => {
      await broadcaster.broadcast('BeforeInsert', resource.metadata, entity)
      const row = await insertValues(inner, resource, entity)
      Object.assign(entity, toEntity(resource, row))
      await broadcaster.broadcast('AfterInsert', resource.metadata, entity)
      return (await fetchRow(inner, resource, fieldValue(resource, row, resource.key))) ?? row
    })
  } catch (error) {
    return refuseWrite(error, session, resource, changes)
  }
}

/** Updates one record. @returns undefined when there is none for the target any more @throws {ApiError} as `insertRow` */
export async function updateRow(
  session: Session,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Row | undefined> {
  try {
    if (!resource.lifecycle.write) return await updateValues(session, resource, target, changedValues(changes))
    return await heard(session, (inner, runner) => updateHeard(inner, runner, resource, target, changes))
  } catch (error) {
    return refuseWrite(error, session, resource, changes)
  }
}

/** Deletes one record. @returns whether there was one for the target @throws {ApiError} `conflict` */
export async function deleteRow(session: Session, resource: Resource, target: Target): Promise<boolean> {
  try {
    if (!resource.lifecycle.write) return await deleteValues(session, resource, target)
    return await heard(session, (inner, runner) => deleteHeard(inner, runner, resource, target))
  } catch (error) {
    return refuseDelete(error, session.dataSource, resource)
  }
}

async function updateHeard(
  session: Session,
  { broadcaster }: QueryRunner,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Row | undefined> {
  const found = await readTarget(session, resource, target)
  if (found === undefined) return undefined
  const { metadata, entity, stored } = found
  assign(entity, changes)
  const fields = [...changes.keys()]
  const columns = fields.flatMap((field) => field.columns.map(({ column }) => column))
  const relations = fields.flatMap(({ relation }) => relation ?? [])
  await broadcaster.broadcast('BeforeUpdate', metadata, entity, stored, columns, relations)
  const before = new Map(columnValues(metadata, stored))
  const values = columnValues(metadata, entity).filter(
    ([column, value]) => column.isUpdate && !isDeepStrictEqual(value, before.get(column)),
  )
  const row = values.length === 0 ? found.row : await updateValues(session, resource, target, values)
  if (row === undefined) return undefined
  Object.assign(entity, toEntity(resource, row))
  await broadcaster.broadcast('AfterUpdate', metadata, entity, stored, columns, relations)
  return (await fetchRow(session, resource, target.key)) ?? row
}

async function deleteHeard(
  session: Session,
  { broadcaster }: QueryRunner,
  resource: Resource,
  target: Target,
): Promise<boolean> {
  const found = await readTarget(session, resource, target)
  if (found === undefined) return false
  const { metadata, entity, stored } = found
  const isSoft = metadata.deleteDateColumn !== undefined
  await broadcaster.broadcast(isSoft ? 'BeforeSoftRemove' : 'BeforeRemove', metadata, entity, stored)
  if (!(await deleteValues(session, resource, target))) return false
  await broadcaster.broadcast(isSoft ? 'AfterSoftRemove' : 'AfterRemove', metadata, entity, stored)
  return true
}

/** What a listener throws takes back the whole transaction. */
function heard<T>(session: Session, work: (session: Session, runner: QueryRunner) => Promise<T>): Promise<T> {
  return transact(session, (inner) => work(inner, inner.runner))
}

/** The target as it is stored: once to change it, and once as it was. */
async function readTarget(session: Session, resource: Resource, target: Target) {
  const [row] = await readRows(session, planItem(resource, target.key))
  if (row === undefined || !isTarget(resource, row, target)) return undefined
  const metadata = metadataOf(resource, row)
  return { row, metadata, entity: toEntity(resource, row), stored: toEntity(resource, row) }
}

async function fetchRow(session: Session, resource: Resource, key: unknown): Promise<Row | undefined> {
  const [row] = await fetchRows(session, planItem(resource, key))
  return row
}
