import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { FieldErrors } from '../errors'
import { addMissing } from '../query/change-set'
import type { ChangeSet, WriteTarget } from '../query/query'
import { assign, columnValues, isIn, newEntity, putRow } from '../read/entity'
import { fieldValue, readerOf } from '../read/row'
import { readRawItem } from '../read/select'
import type { Resource } from '../schema/registry'
import { lockTarget } from './lock-target'
import { deleteValues, insertValues, updateValues } from './values'
import { inTransaction, type Writer } from './writer'

/** Writes of which listeners and subscribers hear as from TypeORM's repository, in one transaction with them. */
export const listenerWriter: Writer = inTransaction({ insert, update, remove })

async function insert(session: DbTransaction, resource: Resource, changes: ChangeSet): Promise<RawRow> {
  const entity = newEntity(resource, changes)
  await callListeners(session.runner, 'BeforeInsert', resource.metadata, entity).catch((error: unknown) => {
    // A listener may count on what is required.
    requireFilled(resource, entity)
    throw error
  })
  requireFilled(resource, entity)
  const raw = await insertValues(session, resource, entity)
  const row = readerOf(resource.columns, session.dataSource)(raw)
  putRow(entity, resource, row)
  await callListeners(session.runner, 'AfterInsert', resource.metadata, entity)
  return (await readRawItem(session, resource, fieldValue(resource, row, resource.key))) ?? raw
}

/** @throws {ApiError} `bad-values`, for required fields that neither the request nor a listener has given */
function requireFilled(resource: Resource, entity: ObjectLiteral): void {
  const errors = new FieldErrors()
  addMissing(resource, (field) => isIn(entity, field), errors)
  errors.raise('bad-values')
}

async function update(
  session: DbTransaction,
  resource: Resource,
  target: WriteTarget,
  changes: ChangeSet,
): Promise<RawRow | undefined> {
  const found = await lockTarget(session, resource, target)
  if (found === undefined) return undefined
  const { metadata, entity, stored } = found
  assign(entity, changes)
  const fields = [...changes.keys()]
  const columns = fields.flatMap((field) => field.columns.map(({ column }) => column))
  const relations = fields.flatMap(({ relation }) => relation ?? [])
  await callListeners(session.runner, 'BeforeUpdate', metadata, entity, stored, columns, relations)
  const before = new Map(columnValues(metadata, stored))
  const given = new Set(columns)
  // What the request changes is written also where it is stored already: of a hidden value, a version that stays would tell it.
  const values = columnValues(metadata, entity).filter(
    ([column, value]) => column.isUpdate && (given.has(column) || !isDeepStrictEqual(value, before.get(column))),
  )
  const isSame = values.length === 0
  const raw = isSame ? found.raw : await updateValues(session, resource, target, values)
  if (raw === undefined) return undefined
  putRow(entity, resource, isSame ? found.row : readerOf(resource.columns, session.dataSource)(raw))
  await callListeners(session.runner, 'AfterUpdate', metadata, entity, stored, columns, relations)
  return (await readRawItem(session, resource, target.key)) ?? raw
}

async function remove(session: DbTransaction, resource: Resource, target: WriteTarget): Promise<boolean> {
  const found = await lockTarget(session, resource, target)
  if (found === undefined) return false
  const { metadata, entity, stored } = found
  const isSoft = metadata.deleteDateColumn !== undefined
  await callListeners(session.runner, isSoft ? 'BeforeSoftRemove' : 'BeforeRemove', metadata, entity, stored)
  if (!(await deleteValues(session, resource, target))) return false
  await callListeners(session.runner, isSoft ? 'AfterSoftRemove' : 'AfterRemove', metadata, entity, stored)
  return true
}
