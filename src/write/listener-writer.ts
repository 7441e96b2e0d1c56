import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import { FieldErrors } from '../errors'
import { problemAt, problemOf } from '../problem'
import { addMissingFieldErrors } from '../query/change-set'
import type { ChangeSet } from '../query/query'
import { assign, columnValues, hasValue, newEntity, setColumns } from '../read/entity'
import { relationsWithOwnKey, setRelatedKeys } from '../read/related-keys'
import { fieldValue } from '../read/row'
import { readWrittenItem, readWrittenItems } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { insertEntities } from './insert-records'
import { lockEntities } from './lock-target'
import { inTransaction } from './transactional-writer'
import { executeDelete, executeInsert, executeRestore, executeUpdate } from './values'
import type { NewRecord, Writer, WriteTarget } from './write-store'

/** Writes that call listeners and subscribers, as TypeORM's repository does, in one transaction with them. */
export const listenerWriter: Writer = inTransaction({ insert, insertMany, update, remove, restore })

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
  await callListeners(session.runner, 'AfterInsert', view.metadata, entity, view.metadata.getEntityIdMap(entity))
  return (await readWrittenItem(session, store, fieldValue(view, row, view.key))) ?? raw
}

/** Inserts several records as TypeORM does: the listeners of all records are called before and after the INSERT of all. */
async function insertMany(
  session: DbTransaction,
  store: Store,
  records: readonly NewRecord[],
): Promise<readonly RawRow[]> {
  const { view, selected } = store
  const { metadata } = view
  const entities = records.map(({ values }) => newEntity(view, values))
  for (const [index, record] of records.entries()) {
    const entity = entities[index] ?? {}
    let failure: { readonly error: unknown } | undefined
    await callListeners(session.runner, 'BeforeInsert', metadata, entity).catch((error: unknown) => {
      failure = { error }
    })
    const { room } = record.errors
    addMissingFieldErrors(view, (field) => hasValue(entity, field), record.errors)
    // The listener may have failed because a required field is missing: report the missing field instead.
    const isMissing = record.errors.room < room
    if (failure !== undefined && (problemOf(failure.error) !== undefined || !isMissing)) {
      throw problemAt(failure.error, record.errors)
    }
    await pause(session)
  }
  if (records.some(({ errors }) => !errors.isEmpty)) return []
  const rows = await insertEntities(session, store, records, entities)
  if (rows.length < records.length) return rows
  for (const [index, raw] of rows.entries()) {
    const entity = entities[index] ?? {}
    const row = selected.columns.readRow(raw)
    setColumns(entity, view, row)
    setRelatedKeys(entity, view, row, relationsWithOwnKey(metadata))
    await callListeners(session.runner, 'AfterInsert', metadata, entity, metadata.getEntityIdMap(entity)).catch(
      (error: unknown) => {
        throw problemAt(error, records[index]?.errors ?? new FieldErrors())
      },
    )
    await pause(session)
  }
  const stored = await readWrittenItems(session, store, rows.map(store.readKey))
  return rows.map((raw, index) => stored[index] ?? raw)
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

async function restore(session: DbTransaction, store: Store, target: WriteTarget): Promise<RawRow | undefined> {
  const { view, selected } = store
  const locked = await lockEntities(session, store, target)
  if (locked === undefined) return undefined
  const { metadata, entity, stored } = locked
  await callListeners(session.runner, 'BeforeRecover', metadata, entity, stored)
  const raw = await executeRestore(session, store, target)
  if (raw === undefined) return undefined
  const row = selected.columns.readRow(raw)
  setColumns(entity, view, row)
  setRelatedKeys(entity, view, row, relationsWithOwnKey(metadata))
  await callListeners(session.runner, 'AfterRecover', metadata, entity, stored)
  return (await readWrittenItem(session, store, target.key)) ?? raw
}
