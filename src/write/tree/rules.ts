import { isDeepStrictEqual } from 'node:util'
import type { DbTransaction } from '../../connection/db-session'
import { ApiError } from '../../errors'
import type { ResourceView } from '../../schema/resource-view'
import { countLineage, countSubtree, maxLineage } from './closure-table'
import { lockTree, readNodes, type TreeNode, type TreeTable } from './table'

/**
 * Maximum number of ancestors of a node. A move runs one SELECT for each of them, and a closure table has one row for
 * each.
 */
const maxDepth = 1000

/**
 * Maximum number of rows that a move deletes from a closure table and inserts into it: one for each pair of a moved
 * node and one of its ancestors outside of the subtree. Three million rows took SQLite 12 seconds.
 */
const maxMovedRows = 100_000

/**
 * Checks that a node does not become its own ancestor, by following the parent keys from its new parent to the root.
 * @throws {ApiError} `bad-values`
 */
export async function requireAcyclic(
  session: DbTransaction,
  view: ResourceView,
  table: TreeTable,
  node: TreeNode,
  parent: readonly unknown[],
): Promise<void> {
  let next: TreeNode['parent'] = parent
  for (let depth = 0; next !== undefined; depth += 1) {
    if (depth === maxDepth) throw tooDeep(view)
    const [ancestor]: readonly TreeNode[] = await readNodes(session, table, table.reference, next)
    if (ancestor !== undefined && isDeepStrictEqual(ancestor.key, node.key)) {
      throw refusal(view, `would make this ${view.name} its own ancestor`)
    }
    next = ancestor?.parent
  }
}

/**
 * Limits the depth of a new node in a closure table, which has a row for each pair of a node and an ancestor.
 * @throws {ApiError} `bad-values`
 */
export async function requireDepth(
  session: DbTransaction,
  view: ResourceView,
  table: TreeTable,
  parent: TreeNode | undefined,
): Promise<void> {
  if (parent === undefined || view.metadata.treeType !== 'closure-table') return
  if ((await countLineage(session, table, parent)) > maxDepth) throw tooDeep(view)
}

/**
 * Limits the number of rows that a move changes in a closure table, and the new depth of the moved nodes.
 * @param node the node before its position changes
 * @throws {ApiError} `bad-values`
 */
export async function requireBoundedMove(
  session: DbTransaction,
  view: ResourceView,
  table: TreeTable,
  node: TreeNode,
  parent: TreeNode | undefined,
): Promise<void> {
  if (view.metadata.treeType !== 'closure-table') return
  const lineage = await countLineage(session, table, node)
  const newAncestors = parent === undefined ? 0 : await countLineage(session, table, parent)
  const size = await countSubtree(session, table, node)
  if (size * (lineage - 1 + newAncestors) > maxMovedRows) {
    throw refusal(view, `would change more than ${maxMovedRows} rows of the closure table`)
  }
  // A subtree of `size` nodes has at most `size - 1` levels below its root: no query is needed if these are allowed.
  if (newAncestors + size - 1 <= maxDepth) return
  const height = (await maxLineage(session, table, node)) - lineage
  if (newAncestors + height > maxDepth) throw tooDeep(view, height > 0 ? ' or its descendants' : '')
}

/**
 * Checks that a nested set has no other root: TypeORM supports only one.
 * @param node the node that is or becomes the root; undefined for one that is not inserted yet
 * @throws {ApiError} `bad-values`
 */
export async function requireOneRoot(
  session: DbTransaction,
  { name, metadata }: ResourceView,
  table: TreeTable,
  node: TreeNode | undefined,
): Promise<void> {
  if (metadata.treeType !== 'nested-set') return
  const roots = await readNodes(session, table, table.parent, undefined)
  if (roots.every(({ key }) => isDeepStrictEqual(key, node?.key))) return
  throw new ApiError('bad-values', `${name} already has a root, and a nested set can have only one: set a parent`)
}

/**
 * Checks again, after the INSERT of a root, that a nested set has only one. MySQL locks existing rows, not the table:
 * on an empty table, at the isolation level READ COMMITTED, several transactions can take the lock and insert a root.
 * The second lock waits for the rows that the other transactions have inserted.
 * @throws {ApiError} `bad-values`
 */
export async function requireStillOneRoot(
  session: DbTransaction,
  view: ResourceView,
  table: TreeTable,
  node: TreeNode,
): Promise<void> {
  if (view.metadata.treeType !== 'nested-set') return
  await lockTree(session, table)
  await requireOneRoot(session, view, table, node)
}

/**
 * Refuses to delete a node whose children would become roots (`ON DELETE SET NULL`), because their stored positions would not
 * be updated. Nodes of an adjacency list have no stored position.
 * @throws {ApiError} `conflict`
 */
export async function requireNoChildren(
  session: DbTransaction,
  { name, metadata }: ResourceView,
  table: TreeTable,
  { reference }: TreeNode,
): Promise<void> {
  if (table.relation.onDelete !== 'SET NULL' || metadata.treeType === 'adjacency-list') return
  const children = await readNodes(session, table, table.parent, reference)
  if (children.length > 0)
    throw new ApiError('conflict', `this ${name} cannot be deleted because it has children: move them first`)
}

function tooDeep(view: ResourceView, others = ''): ApiError {
  return refusal(view, `would give this ${view.name}${others} more than ${maxDepth} ancestors`)
}

function refusal(view: ResourceView, message: string): ApiError {
  const field = view.outputFields.find(({ relation }) => relation?.isTreeParent)
  const errors = field === undefined ? [] : [{ field: field.name, message }]
  return new ApiError('bad-values', `${field?.name ?? 'this'} ${message}`, { errors })
}
