import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { FieldErrors } from '../errors'
import { addMissingFieldErrors } from '../query/change-set'
import type { ChangeSet, WriteTarget } from '../query/query'
import { assign, columnValues, isIn, newEntity, setColumns } from '../read/entity'
import { fieldValue, rowReaderOf } from '../read/row'
import { readRawItem } from '../read/select'
import type { Resource } from '../schema/registry'
import { lockTarget } from './lock-target'
import { deleteValues, insertValues, updateValues } from './values'
import { inTransaction, type Writer } from './writer'

/** Writes that call listeners and subscribers, as TypeORM's repository does, in one transaction with them. */
export const listenerWriter: Writer = inTransaction({ insert, update, remove })

async function insert(session: DbTransaction, resource: Resource, changes: ChangeSet): Promise<RawRow> {
  const entity = newEntity(resource, changes)
  await callListeners(session.runner, 'BeforeInsert', resource.metadata, entity).catch((error: unknown) => {
    // The listener may have failed because a required field is missing: report the missing field instead.
    requireFilled(resource, entity)
    throw error
  })
  requireFilled(resource, entity)
  const raw = await insertValues(session, resource, entity)
  const row = rowReaderOf(resource.columns, session.dataSource)(raw)
  setColumns(entity, resource, row)
  await callListeners(session.runner, 'AfterInsert', resource.metadata, entity)
  return (await readRawItem(session, resource, fieldValue(resource, row, resource.key))) ?? raw
}

/** @throws {ApiError} `bad-values` for required fields that neither the request nor a listener has set */
function requireFilled(resource: Resource, entity: ObjectLiteral): void {
  const errors = new FieldErrors()
  addMissingFieldErrors(resource, (field) => isIn(entity, field), errors)
  errors.raise('bad-values')
}

async function update(
  session: DbTransaction,
  resource: Resource,
  target: WriteTarget,
  changes: ChangeSet,
): Promise<RawRow | undefined> {
  const locked = await lockTarget(session, resource, target)
  if (locked === undefined) return undefined
  const { metadata, entity, stored } = locked
  assign(entity, changes)
  const fields = [...changes.keys()]
  const columns = fields.flatMap((field) => field.columns.map(({ column }) => column))
  const relations = fields.flatMap(({ relation }) => relation ?? [])
  await callListeners(session.runner, 'BeforeUpdate', metadata, entity, stored, columns, relations)
  const storedValues = new Map(columnValues(metadata, stored))
  const changedColumns = new Set(columns)
  // Values of the request are written even if they are equal to the stored ones. Otherwise an unchanged
  // `@VersionColumn` would reveal that a hidden value has been guessed.
  const values = columnValues(metadata, entity).filter(
    ([column, value]) =>
      column.isUpdate && (changedColumns.has(column) || !isDeepStrictEqual(value, storedValues.get(column))),
  )
  const isUnchanged = values.length === 0
  const raw = isUnchanged ? locked.raw : await updateValues(session, resource, target, values)
  if (raw === undefined) return undefined
  setColumns(entity, resource, isUnchanged ? locked.row : rowReaderOf(resource.columns, session.dataSource)(raw))
  await callListeners(session.runner, 'AfterUpdate', metadata, entity, stored, columns, relations)
  return (await readRawItem(session, resource, target.key)) ?? raw
}

async function remove(session: DbTransaction, resource: Resource, target: WriteTarget): Promise<boolean> {
  const locked = await lockTarget(session, resource, target)
  if (locked === undefined) return false
  const { metadata, entity, stored } = locked
  const isSoft = metadata.deleteDateColumn !== undefined
  await callListeners(session.runner, isSoft ? 'BeforeSoftRemove' : 'BeforeRemove', metadata, entity, stored)
  if (!(await deleteValues(session, resource, target))) return false
  await callListeners(session.runner, isSoft ? 'AfterSoftRemove' : 'AfterRemove', metadata, entity, stored)
  return true
}
