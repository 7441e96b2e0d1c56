import { isDeepStrictEqual } from 'node:util'
import type { DbTransaction } from '../../connection/db-session'
import { transact } from '../../connection/statement'
import { dialectOf } from '../../dialect/dialect-of'
import { ApiError } from '../../errors'
import type { ChangeSet } from '../../query/query'
import { fieldValue, readerOf, toValues } from '../../read/row'
import type { Resource } from '../../schema/registry'
import { listenerWriter } from '../listener-writer'
import type { Writer } from '../writer'
import type { Bookkeeping } from './bookkeeping'
import { closureTable } from './closure-table'
import { materializedPath } from './materialized-path'
import { nestedSet } from './nested-set'
import { requireAcyclic, requireDepth, requireNoChildren, requireOneRoot } from './rules'
import { readNodes, runSql, type TreeNode, type TreeTable, treeTableOf } from './table'

/**
 * Writes nodes of a tree: the record like any other, and then what TypeORM stores about its position, by the parent keys as
 * they are in the database. TypeORM's `save` stores wrong positions for some moves.
 */
export const treeWriter: Writer = {
  insert: (session, resource, changes) =>
    inTree(session, resource, async (inner, table, bookkeeping) => {
      const given = givenParent(changes)
      await requirePlace(inner, resource, table, undefined, given)
      const written = await listenerWriter.insert(inner, resource, changes)
      const row = readerOf(resource.columns, inner.dataSource)(written.raw)
      const node = await readNode(inner, resource, table, fieldValue(resource, row, resource.key))
      if (node === undefined) throw new Error(`${table.name} has no row after INSERT`)
      // A listener may have set another parent.
      if (!isSame(node.parent, given)) await requirePlace(inner, resource, table, node, node.parent)
      const parent = await readParent(inner, table, node)
      await requireDepth(inner, resource, table, parent)
      await bookkeeping.insert(inner, table, node, parent)
      return written
    }),
  update: (session, resource, target, changes) =>
    inTree(session, resource, async (inner, table, bookkeeping) => {
      const before = await readNode(inner, resource, table, target.key)
      if (before === undefined) return undefined
      const given = givenParent(changes, before.parent)
      if (!isSame(before.parent, given)) await requirePlace(inner, resource, table, before, given)
      const written = await listenerWriter.update(inner, resource, target, changes)
      const after = written && (await readNode(inner, resource, table, target.key))
      if (after === undefined || isSame(before.parent, after.parent)) return written
      // A listener may have set another parent.
      if (!isSame(after.parent, given)) await requirePlace(inner, resource, table, before, after.parent)
      await bookkeeping.move(inner, table, before, await readParent(inner, table, after))
      return written
    }),
  remove: (session, resource, target) =>
    inTree(session, resource, async (inner, table, bookkeeping) => {
      const node = await readNode(inner, resource, table, target.key)
      if (node === undefined) return false
      const isSoft = resource.metadata.deleteDateColumn !== undefined
      if (!isSoft) await requireNoChildren(inner, resource, table, node)
      if (!isSoft) await bookkeeping.beforeRemove?.(inner, table, node)
      if (!(await listenerWriter.remove(inner, resource, target))) throw new NotRemovedError()
      if (!isSoft) await bookkeeping.remove(inner, table, node)
      return true
    }).catch((error: unknown) => {
      if (error instanceof NotRemovedError) return false
      throw error
    }),
}

/** Rolls back a DELETE of a record that is not there for its target any more. */
class NotRemovedError extends Error {}

const bookkeepings: Readonly<Record<string, Bookkeeping>> = {
  'closure-table': closureTable,
  'materialized-path': materializedPath,
  'nested-set': nestedSet,
}

type Work<T> = (session: DbTransaction, table: TreeTable, bookkeeping: Bookkeeping) => Promise<T>

/** Does work in a transaction in which nobody else writes to the tree: a position depends on those of other nodes. */
function inTree<T>(session: Parameters<Writer['insert']>[0], { metadata }: Resource, work: Work<T>): Promise<T> {
  const { dataSource } = session
  const bookkeeping = bookkeepings[metadata.treeType ?? '']
  if (bookkeeping === undefined) throw new Error(`${metadata.name} is a tree of an unknown type, ${metadata.treeType}`)
  const table = treeTableOf(metadata, dataSource)
  const lock = dialectOf(dataSource).lockTable?.(table.name)
  return transact(session, async (inner) => {
    if (lock !== undefined) await runSql(inner, () => lock)
    return work(inner, table, bookkeeping)
  })
}

/** @throws {ApiError} `bad-values`, for a parent that a node cannot have; node is undefined for a new one */
async function requirePlace(
  session: DbTransaction,
  resource: Resource,
  table: TreeTable,
  node: TreeNode | undefined,
  parent: TreeNode['parent'],
): Promise<void> {
  if (parent === undefined) await requireOneRoot(session, resource, table, node)
  else if (node !== undefined) await requireAcyclic(session, resource, table, node, parent)
}

/** The values of the foreign key that a request gives. @param otherwise where it gives none */
function givenParent(changes: ChangeSet, otherwise?: TreeNode['parent']): TreeNode['parent'] {
  for (const [field, value] of changes) {
    if (field.relation?.isTreeParent) return value === null ? undefined : toValues(field, value)
  }
  return otherwise
}

async function readNode(
  session: DbTransaction,
  { key }: Resource,
  table: TreeTable,
  value: unknown,
): Promise<TreeNode | undefined> {
  const [node] = await readNodes(session, table, key.columns, toValues(key, value))
  return node
}

async function readParent(
  session: DbTransaction,
  table: TreeTable,
  { parent }: TreeNode,
): Promise<TreeNode | undefined> {
  if (parent === undefined) return undefined
  const [node] = await readNodes(session, table, table.reference, parent)
  if (node === undefined)
    throw new ApiError('conflict', `the parent of this ${table.metadata.name.toLowerCase()} was deleted meanwhile`)
  return node
}

function isSame(one: TreeNode['parent'], other: TreeNode['parent']): boolean {
  return isDeepStrictEqual(one, other)
}
