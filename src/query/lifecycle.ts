import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import { FieldErrors } from '../errors'
import { addMissing } from '../plan/change-set'
import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import { assign, changedValues, columnValues, isIn, newEntity, toEntity } from './entity'
import { refuseDelete, refuseWrite } from './refuse-write'
import { fieldValue, type Row } from './row'
import { inTurn, type Session, type Transaction, transact } from './statement'
import { fetchRow, readTarget } from './target'
import { deleteNode, insertNode, updateNode } from './tree'
import { deleteValues, insertValues, updateValues } from './write'

/**
 * Inserts one record. Listeners and subscribers hear of it as from TypeORM's repository, in one transaction with it.
 * @throws {ApiError} `conflict`, `bad-values`
 */
export async function insertRow(session: Session, resource: Resource, changes: ChangeSet): Promise<Row> {
  const entity = newEntity(resource, changes)
  try {
    return await inTurn(session, async () => {
      if (isTree(resource)) return transact(session, (inner) => insertNode(inner, resource, entity))
      if (!resource.lifecycle.write) return whole(session, resource, (inner) => insertValues(inner, resource, entity))
      return transact(session, (inner) => insertHeard(inner, resource, entity))
    })
  } catch (error) {
    return refuseWrite(error, session, resource, changes, true)
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
    return await inTurn(session, async () => {
      if (isTree(resource)) return transact(session, (inner) => updateNode(inner, resource, target, changes))
      if (!resource.lifecycle.write) {
        return whole(session, resource, (inner) => updateValues(inner, resource, target, changedValues(changes)))
      }
      return transact(session, (inner) => updateHeard(inner, resource, target, changes))
    })
  } catch (error) {
    return refuseWrite(error, session, resource, changes, false)
  }
}

/** Deletes one record. @returns whether there was one for the target @throws {ApiError} `conflict` */
export async function deleteRow(session: Session, resource: Resource, target: Target): Promise<boolean> {
  try {
    return await inTurn(session, async () => {
      if (isTree(resource)) return transact(session, (inner) => deleteNode(inner, resource, target))
      if (!resource.lifecycle.write) return deleteValues(session, resource, target)
      return transact(session, (inner) => deleteHeard(inner, resource, target))
    })
  } catch (error) {
    return refuseDelete(error, session.dataSource, resource)
  }
}

/** What cannot be read back has not been stored: where that may be, a write is in a transaction with its reading. */
function whole<T>(session: Session, { row }: Resource, work: (session: Session) => Promise<T>): Promise<T> {
  const isDoubtful = row.some(({ valueColumn }) => valueColumn.transformer !== undefined)
  return isDoubtful ? transact(session, work) : work(session)
}

function isTree({ metadata }: Resource): boolean {
  return metadata.treeType !== undefined
}

async function insertHeard(session: Transaction, resource: Resource, entity: ObjectLiteral): Promise<Row> {
  const { broadcaster } = session.runner
  await broadcaster.broadcast('BeforeInsert', resource.metadata, entity)
  const errors = new FieldErrors()
  addMissing(resource, (field) => isIn(entity, field), errors)
  errors.raise('bad-values')
  const row = await insertValues(session, resource, entity)
  Object.assign(entity, toEntity(resource, row))
  await broadcaster.broadcast('AfterInsert', resource.metadata, entity)
  return (await fetchRow(session, resource, fieldValue(resource, row, resource.key))) ?? row
}

async function updateHeard(
  session: Transaction,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Row | undefined> {
  const { broadcaster } = session.runner
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

async function deleteHeard(session: Transaction, resource: Resource, target: Target): Promise<boolean> {
  const { broadcaster } = session.runner
  const found = await readTarget(session, resource, target)
  if (found === undefined) return false
  const { metadata, entity, stored } = found
  const isSoft = metadata.deleteDateColumn !== undefined
  await broadcaster.broadcast(isSoft ? 'BeforeSoftRemove' : 'BeforeRemove', metadata, entity, stored)
  if (!(await deleteValues(session, resource, target))) return false
  await broadcaster.broadcast(isSoft ? 'AfterSoftRemove' : 'AfterRemove', metadata, entity, stored)
  return true
}
