import { isDeepStrictEqual } from 'node:util'
import type { DbSession, DbTransaction } from '../../connection/db-session'
import { pause } from '../../connection/pauses'
import { type RawRow, runInSavepoint, runInTransaction } from '../../connection/statement'
import { ApiError } from '../../errors'
import type { ChangeSet } from '../../query/query'
import { fieldValue, splitColumnValues } from '../../read/row'
import type { Store } from '../../read/store'
import type { ResourceView } from '../../schema/resource-view'
import { addRefusal } from '../insert-records'
import { listenerWriter } from '../listener-writer'
import { refuseWrite } from '../refuse-write'
import { oneByOne } from '../transactional-writer'
import { lostRecord } from '../values'
import type { Writer } from '../write-store'
import type { Bookkeeping } from './bookkeeping'
import { closureTable } from './closure-table'
import { materializedPath } from './materialized-path'
import { nestedSet } from './nested-set'
import {
  requireAcyclic,
  requireBoundedMove,
  requireDepth,
  requireNoChildren,
  requireOneRoot,
  requireStillOneRoot,
} from './rules'
import { lockTree, readNodes, type TreeNode, type TreeTable, treeTableOf } from './table'

/**
 * Writes nodes of a tree: first the record, as for other entities, then its position (nested set, materialized path or
 * closure table; an adjacency list has none). The position is computed from the parent keys in the database, because
 * TypeORM's own `save` stores wrong positions for some moves.
 */
export const treeWriter: Writer = {
  lockTable: (session, { view, dataSource }) => lockTree(session, treeTableOf(view.metadata, dataSource)),
  updateMany: (...args) => oneByOne(treeWriter).updateMany(...args),
  removeMany: (...args) => oneByOne(treeWriter).removeMany(...args),
  insert: (session, store, changes) =>
    inTree(session, store, async (inner, table, bookkeeping) => {
      const { view, selected } = store
      const newParent = parentIn(changes)
      await requireValidParent(inner, view, table, undefined, newParent)
      const written = await listenerWriter.insert(inner, store, changes)
      const row = selected.columns.readRow(written.raw)
      const node = await readNode(inner, view, table, fieldValue(view, row, view.key))
      if (node === undefined) throw new Error(`${table.name} has no row after INSERT`)
      const parent = await readParent(inner, table, node)
      // A listener may have set another parent. A key that belonged to another node when the request was checked may be that
      // of the new node now, if the other one was deleted in the meantime.
      const isUnchecked = !isSame(node.parent, newParent) || isSame(parent?.key, node.key)
      if (node.parent === undefined) await requireStillOneRoot(inner, view, table, node)
      else if (isUnchecked) await requireValidParent(inner, view, table, node, node.parent)
      await requireDepth(inner, view, table, parent)
      await bookkeeping.insert(inner, table, node, parent)
      return written
    }),
  insertMany: async (session, store, records) => {
    const rows: RawRow[] = []
    // Each node takes several statements. In a nested set, they change the bounds of up to all rows.
    for (const record of records) {
      await pause(session)
      if (record.errors.isFull) break
      const { values, presets } = record
      const change = { action: 'create', values, stored: undefined, presets } as const
      await runInSavepoint(session, (inner) => treeWriter.insert(inner, store, values))
        .then(({ raw }) => rows.push(raw))
        .catch((error: unknown) => refuseWrite(error, session, store, change))
        .catch((refusal: unknown) => addRefusal(record, refusal))
    }
    return rows
  },
  update: (session, store, target, changes) =>
    inTree(session, store, async (inner, table, bookkeeping) => {
      const { view } = store
      const before = await readNode(inner, view, table, target.key)
      if (before === undefined) return undefined
      const newParent = parentIn(changes, before.parent)
      if (!isSame(before.parent, newParent)) await requireValidParent(inner, view, table, before, newParent)
      const written = await listenerWriter.update(inner, store, target, changes)
      if (written === undefined) return undefined
      const after = await readNode(inner, view, table, target.key)
      if (after === undefined) throw new Error(lostRecord(view))
      if (!hasMoved(bookkeeping, before, after)) return written
      // A listener may have set another parent.
      if (!isSame(after.parent, newParent)) await requireValidParent(inner, view, table, after, after.parent)
      const parent = await readParent(inner, table, after)
      await requireBoundedMove(inner, view, table, after, parent)
      await bookkeeping.move(inner, table, after, parent)
      return written
    }),
  remove: (session, store, target) =>
    inTree(session, store, async (inner, table, bookkeeping) => {
      const { view } = store
      const node = await readNode(inner, view, table, target.key)
      if (node === undefined) return false
      const isSoft = view.metadata.deleteDateColumn !== undefined
      if (!isSoft) await requireNoChildren(inner, view, table, node)
      if (!isSoft) await bookkeeping.beforeRemove?.(inner, table, node)
      if (!(await listenerWriter.remove(inner, store, target))) throw new NotRemovedError()
      if (!isSoft) await bookkeeping.remove(inner, table, node)
      return true
    }).catch((error: unknown) => {
      if (error instanceof NotRemovedError) return false
      throw error
    }),
  // A soft-deleted node keeps its position.
  restore: (session, store, target) => inTree(session, store, (inner) => listenerWriter.restore(inner, store, target)),
}

/** Thrown to roll back the transaction of a DELETE if there is no record for its target any more. */
class NotRemovedError extends Error {}

/** Bookkeeping of an adjacency list, which stores only the parent keys. */
const adjacencyList: Bookkeeping = { insert: async () => {}, move: async () => {}, remove: async () => {} }

const bookkeepings: Readonly<Record<string, Bookkeeping>> = {
  'adjacency-list': adjacencyList,
  'closure-table': closureTable,
  'materialized-path': materializedPath,
  'nested-set': nestedSet,
}

type Work<T> = (session: DbTransaction, table: TreeTable, bookkeeping: Bookkeeping) => Promise<T>

/**
 * Runs `work` in a transaction in which no other request can write to the tree, because the position of a node depends
 * on those of other nodes. The table is locked, unless the data source has a single connection (SQLite).
 */
function inTree<T>(session: DbSession, { view, dataSource }: Store, work: Work<T>): Promise<T> {
  const { metadata } = view
  const bookkeeping = bookkeepings[metadata.treeType ?? '']
  if (bookkeeping === undefined) throw new Error(`${metadata.name} has the unsupported tree type ${metadata.treeType}`)
  const table = treeTableOf(metadata, dataSource)
  return runInTransaction(session, async (inner) => {
    await lockTree(inner, table)
    return work(inner, table, bookkeeping)
  })
}

/**
 * Checks that a node can have a parent, or can be a root.
 * @param node undefined for a new one
 * @throws {ApiError} `bad-values`
 */
async function requireValidParent(
  session: DbTransaction,
  view: ResourceView,
  table: TreeTable,
  node: TreeNode | undefined,
  parent: TreeNode['parent'],
): Promise<void> {
  if (parent === undefined) await requireOneRoot(session, view, table, node)
  else if (node !== undefined) await requireAcyclic(session, view, table, node, parent)
}

/** The parent key that a request sets. @param otherwise the result if it does not set one */
function parentIn(changes: ChangeSet, otherwise?: TreeNode['parent']): TreeNode['parent'] {
  for (const [field, value] of changes) {
    if (field.relation?.isTreeParent) return value === null ? undefined : splitColumnValues(field, value)
  }
  return otherwise
}

async function readNode(
  session: DbTransaction,
  { key }: ResourceView,
  table: TreeTable,
  value: unknown,
): Promise<TreeNode | undefined> {
  const [node] = await readNodes(session, table, key.columns, splitColumnValues(key, value))
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
    throw new ApiError(
      'conflict',
      `the parent of this ${table.metadata.name.toLowerCase()} was deleted in the meantime`,
    )
  return node
}

/** Whether an update has changed a column on which the position of the node depends. */
function hasMoved({ containsReference }: Bookkeeping, before: TreeNode, after: TreeNode): boolean {
  if (!isSame(before.parent, after.parent)) return true
  return containsReference === true && !isSame(before.reference, after.reference)
}

function isSame(one: TreeNode['parent'], other: TreeNode['parent']): boolean {
  return isDeepStrictEqual(one, other)
}
