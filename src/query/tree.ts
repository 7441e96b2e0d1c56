import type { ObjectLiteral } from 'typeorm'
import { ApiError } from '../errors'
import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Transaction } from './connection'
import { dialectOf } from './dialect-of'
import { assign, newEntity } from './entity'
import { fromValues } from './row'
import { readRawItem } from './select'
import { type RawRow, throwWriteError } from './statement'
import { lockTarget } from './target'
import { inTransaction, type Writer } from './writer'

/**
 * A tree keeps books of its nodes, in a table of its own or in columns, which only TypeORM's `save` and `remove` write. They
 * tell listeners and subscribers by themselves.
 */
export const tree: Writer = inTransaction({
  insert: async (session, resource, changes) => {
    await lock(session, resource)
    return insert(session, resource, changes)
  },
  update: async (session, resource, target, changes) => {
    await lock(session, resource)
    return update(session, resource, target, changes)
  },
  remove: async (session, resource, target) => {
    await lock(session, resource)
    return remove(session, resource, target)
  },
})

/** The books of a tree are about all of its nodes: one writes at a time. */
async function lock({ dataSource, runner }: Transaction, { metadata }: Resource): Promise<void> {
  const table = metadata.tablePath
    .split('.')
    .map((name) => dataSource.driver.escape(name))
    .join('.')
  const sql = dialectOf(dataSource).lockTable?.(table)
  if (sql !== undefined) await runner.query(sql)
}

async function insert(session: Transaction, resource: Resource, changes: ChangeSet): Promise<RawRow> {
  const { metadata, name } = resource
  const entity = newEntity(resource, changes)
  if (metadata.hasAllPrimaryKeys(entity)) {
    // `save` would overwrite the record that has this key, a deleted one too.
    const where = metadata.getEntityIdMap(entity) ?? {}
    const taken = await session.runner.manager.count(metadata.target, { where, withDeleted: true })
    if (taken > 0) throw new ApiError('conflict', `another ${name} has the same key`)
  }
  await save(session, resource, entity)
  const row = await readRawItem(session, resource, keyOf(resource, entity))
  if (row === undefined) throw new Error(`${metadata.tableName} has no row after save`)
  return row
}

async function update(
  session: Transaction,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<RawRow | undefined> {
  const found = await lockTarget(session, resource, target)
  if (found === undefined) return undefined
  assign(found.entity, changes)
  await requireNoCircle(session, resource, found.entity)
  await save(session, resource, found.entity)
  return readRawItem(session, resource, target.key)
}

async function remove(session: Transaction, resource: Resource, target: Target): Promise<boolean> {
  const found = await lockTarget(session, resource, target)
  if (found === undefined) return false
  const { target: type, deleteDateColumn } = resource.metadata
  const { manager } = session.runner
  const removed =
    deleteDateColumn === undefined ? manager.remove(type, found.entity) : manager.softRemove(type, found.entity)
  await removed.catch(throwWriteError)
  return true
}

async function save({ runner }: Transaction, { name, metadata }: Resource, entity: ObjectLiteral): Promise<void> {
  await runner.manager.save(metadata.target, entity).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== 'NestedSetMultipleRootError') throwWriteError(error)
    throw new ApiError('bad-values', `there is a root of ${name} already, and a nested set has one: give a parent`)
  })
}

/** TypeORM would make a node its own ancestor without a word. */
async function requireNoCircle({ runner }: Transaction, resource: Resource, entity: ObjectLiteral): Promise<void> {
  const { metadata, name } = resource
  const parent: ObjectLiteral | null | undefined = metadata.treeParentRelation?.getEntityValue(entity)
  if (!parent) return
  const ancestors = await runner.manager.getTreeRepository(metadata.target).findAncestors(parent)
  if (![parent, ...ancestors].some((node) => metadata.compareEntities(node, entity))) return
  const field = resource.record.find(({ relation }) => relation?.isTreeParent)
  const message = `would make this ${name} its own ancestor`
  const errors = field === undefined ? [] : [{ field: field.name, message }]
  throw new ApiError('bad-values', `${field?.name ?? 'this'} ${message}`, { errors })
}

function keyOf({ key }: Resource, entity: ObjectLiteral): unknown {
  return fromValues(key.columns.map(({ column }) => column.getEntityValue(entity)))
}
