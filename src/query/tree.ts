import type { ObjectLiteral } from 'typeorm'
import { ApiError } from '../errors'
import type { ChangeSet, Target } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { assign } from './entity'
import { fieldValue, type Row } from './row'
import { readRows } from './select'
import type { Transaction } from './statement'
import { fetchRow, readTarget } from './target'

/*
 * A tree keeps books of its nodes, in a table of its own or in columns, which only TypeORM's `save` and `remove` write. They
 * tell listeners and subscribers by themselves.
 */

export async function insertNode(session: Transaction, resource: Resource, entity: ObjectLiteral): Promise<Row> {
  const key = keyOf(resource, entity)
  // `save` would overwrite the record that has this key.
  if (!isNew(key) && (await fetchRow(session, resource, key)) !== undefined) {
    throw new ApiError('conflict', `another ${resource.name} has the same key`)
  }
  await save(session, resource, entity)
  const row = await fetchRow(session, resource, keyOf(resource, entity))
  if (row === undefined) throw new Error(`${resource.metadata.tableName} has no row after save`)
  return row
}

export async function updateNode(
  session: Transaction,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Row | undefined> {
  const found = await readTarget(session, resource, target)
  if (found === undefined) return undefined
  await requireNoCircle(session, resource, target, changes)
  assign(found.entity, changes)
  await save(session, resource, found.entity)
  return fetchRow(session, resource, target.key)
}

export async function deleteNode(session: Transaction, resource: Resource, target: Target): Promise<boolean> {
  const found = await readTarget(session, resource, target)
  if (found === undefined) return false
  const { manager } = session.runner
  const { target: type, deleteDateColumn } = resource.metadata
  if (deleteDateColumn === undefined) await manager.remove(type, found.entity)
  else await manager.softRemove(type, found.entity)
  return true
}

async function save({ runner }: Transaction, { name, metadata }: Resource, entity: ObjectLiteral): Promise<void> {
  try {
    await runner.manager.save(metadata.target, entity)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NestedSetMultipleRootError') throw error
    throw new ApiError('bad-values', `there is a root of ${name} already, and a nested set has one: give a parent`)
  }
}

/** TypeORM would make a node its own ancestor without a word. */
async function requireNoCircle(
  session: Transaction,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<void> {
  const parent = resource.record.find(({ relation }) => relation?.isTreeParent)
  let above = parent && changes.get(parent)
  while (parent !== undefined && above !== undefined && above !== null) {
    if (above === target.key) {
      const errors = [{ field: parent.name, message: `would make this ${resource.name} its own ancestor` }]
      throw new ApiError('bad-values', `${parent.name} would make this ${resource.name} its own ancestor`, { errors })
    }
    const [row] = await readRows(session, planItem(resource, above))
    above = row && fieldValue(resource, row, parent)
  }
}

function keyOf({ key }: Resource, entity: ObjectLiteral): unknown {
  const values = key.columns.map(({ column }) => column.getEntityValue(entity))
  return values.length === 1 ? values[0] : values
}

function isNew(key: unknown): boolean {
  return key === undefined || (Array.isArray(key) && key.includes(undefined))
}
