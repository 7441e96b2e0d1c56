import { isDeepStrictEqual } from 'node:util'
import type { DbTransaction } from '../../connection/db-session'
import { ApiError } from '../../errors'
import type { Resource } from '../../schema/registry'
import { countLineage } from './closure-table'
import { readNodes, type TreeNode, type TreeTable } from './table'

/** How many ancestors a node may get: for a move each is looked up by a statement, a closure table has a row for each. */
const maxDepth = 1000

/**
 * Follows the parent keys from the new parent of a node to the root.
 * @throws {ApiError} `bad-values`, when the node is met on the way
 */
export async function requireAcyclic(
  session: DbTransaction,
  resource: Resource,
  table: TreeTable,
  node: TreeNode,
  parent: readonly unknown[],
): Promise<void> {
  let next: TreeNode['parent'] = parent
  for (let depth = 0; next !== undefined; depth += 1) {
    if (depth === maxDepth) throw tooDeep(resource)
    const [ancestor]: readonly TreeNode[] = await readNodes(session, table, table.reference, next)
    if (ancestor !== undefined && isDeepStrictEqual(ancestor.key, node.key)) {
      throw refusal(resource, `would make this ${resource.name} its own ancestor`)
    }
    next = ancestor?.parent
  }
}

/** @throws {ApiError} `bad-values`, for a new node of a closure table, which has a row for each pair of a node and an ancestor */
export async function requireDepth(
  session: DbTransaction,
  resource: Resource,
  table: TreeTable,
  parent: TreeNode | undefined,
): Promise<void> {
  if (parent === undefined || resource.metadata.treeType !== 'closure-table') return
  if ((await countLineage(session, table, parent)) > maxDepth) throw tooDeep(resource)
}

/** @throws {ApiError} `bad-values`, when another node of a nested set has no parent: TypeORM supports one root */
export async function requireOneRoot(
  session: DbTransaction,
  { name, metadata }: Resource,
  table: TreeTable,
  node: TreeNode | undefined,
): Promise<void> {
  if (metadata.treeType !== 'nested-set') return
  const roots = await readNodes(session, table, table.parent, undefined)
  if (roots.every(({ key }) => isDeepStrictEqual(key, node?.key))) return
  throw new ApiError('bad-values', `there is a root of ${name} already, and a nested set has one: give a parent`)
}

/** @throws {ApiError} `conflict`, when the database would make roots of the children, whose positions stay as they were */
export async function requireNoChildren(
  session: DbTransaction,
  { name }: Resource,
  table: TreeTable,
  { reference }: TreeNode,
): Promise<void> {
  if (table.relation.onDelete !== 'SET NULL') return
  const children = await readNodes(session, table, table.parent, reference)
  if (children.length > 0) throw new ApiError('conflict', `this ${name} cannot be deleted: it has children, move them`)
}

function tooDeep(resource: Resource): ApiError {
  return refusal(resource, `would put this ${resource.name} below more than ${maxDepth} others`)
}

function refusal(resource: Resource, message: string): ApiError {
  const field = resource.outputFields.find(({ relation }) => relation?.isTreeParent)
  const errors = field === undefined ? [] : [{ field: field.name, message }]
  return new ApiError('bad-values', `${field?.name ?? 'this'} ${message}`, { errors })
}
