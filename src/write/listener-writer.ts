import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { FieldErrors } from '../errors'
import { problemOf } from '../problem'
import { addMissingFieldErrors } from '../query/change-set'
import type { ChangeSet } from '../query/query'
import { assign, columnValues, hasValue, newEntity, setColumns } from '../read/entity'
import { relationsWithOwnKey, setRelatedKeys } from '../read/related-keys'
import { fieldValue } from '../read/row'
import { readWrittenItem } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { lockEntities } from './lock-target'
import { inTransaction } from './transactional-writer'
import { executeDelete, executeInsert, executeUpdate } from './values'
import type { Writer, WriteTarget } from './write-store'

/** Writes that call listeners and subscribers, as TypeORM's repository does, in one transaction with them. */
export const listenerWriter: Writer = inTransaction({ insert, update, remove })

async function insert(session: DbTransaction, store: Store, changes: ChangeSet): Promise<RawRow> {
  const { view, selected } = store
  const entity = newEntity(view, changes)
  await callListeners(session.runner, 'BeforeInsert', view.metadata, entity).catch((error: unknown) => {
    // The listener may have failed because a required field is missing: report the missing field instead.
    if (problemOf(error) === undefined) requireFilled(view, entity)
    throw error
  })
  requireFilled(view, entity)
  const raw = await executeInsert(session, store, entity)
  const row = selected.columns.readRow(raw)
  setColumns(entity, view, row)
  setRelatedKeys(entity, view, row, relationsWithOwnKey(view.metadata))
  await callListeners(session.runner, 'AfterInsert', view.metadata, entity)
  return (await readWrittenItem(session, store, fieldValue(view, row, view.key))) ?? raw
}

/** @throws {ApiError} `bad-values` for required fields that neither the request nor a listener has set */
function requireFilled(view: ResourceView, entity: ObjectLiteral): void {
  const errors = new FieldErrors()
  addMissingFieldErrors(view, (field) => hasValue(entity, field), errors)
  errors.raise('bad-values')
}

async function update(
  session: DbTransaction,
  store: Store,
  target: WriteTarget,
  changes: ChangeSet,
): Promise<RawRow | undefined> {
  const { view, selected } = store
  const locked = await lockEntities(session, store, target)
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
  const raw = isUnchanged ? locked.raw : await executeUpdate(session, store, target, values)
  if (raw === undefined) return undefined
  const row = isUnchanged ? locked.row : selected.columns.readRow(raw)
  setColumns(entity, view, row)
  setRelatedKeys(entity, view, row, relationsWithOwnKey(metadata))
  await callListeners(session.runner, 'AfterUpdate', metadata, entity, stored, columns, relations)
  return (await readWrittenItem(session, store, target.key)) ?? raw
}

async function remove(session: DbTransaction, store: Store, target: WriteTarget): Promise<boolean> {
  const locked = await lockEntities(session, store, target)
  if (locked === undefined) return false
  const { metadata, entity, stored } = locked
  const isSoft = metadata.deleteDateColumn !== undefined
  await callListeners(session.runner, isSoft ? 'BeforeSoftRemove' : 'BeforeRemove', metadata, entity, stored)
  if (!(await executeDelete(session, store, target))) return false
  await callListeners(session.runner, isSoft ? 'AfterSoftRemove' : 'AfterRemove', metadata, entity, stored)
  return true
}
