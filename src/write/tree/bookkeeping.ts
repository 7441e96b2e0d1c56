import type { DbSession } from '../../connection/db-session'
import type { TreeNode, TreeTable } from './table'

/**
 * Maintains the columns and tables in which TypeORM stores the positions of a tree's nodes, besides the parent keys.
 * Every method runs in the transaction of the write.
 */
export interface Bookkeeping {
  /** Whether positions contain the columns to which parent keys refer: they change if these do. */
  readonly containsReference?: boolean
  /** Sets the position of a new node. @param node the stored node, without a position */
  readonly insert: (session: DbSession, table: TreeTable, node: TreeNode, parent: TreeNode | undefined) => Promise<void>
  /**
   * Moves a node with its descendants.
   * @param node the stored node, with its position before the move
   * @param parent the new parent, which is not one of the node's descendants; undefined for a node that becomes a root
   */
  readonly move: (session: DbSession, table: TreeTable, node: TreeNode, parent: TreeNode | undefined) => Promise<void>
  /** Prepares the deletion of a node with its descendants. It is rolled back if the node is not deleted. */
  readonly beforeRemove?: (session: DbSession, table: TreeTable, node: TreeNode) => Promise<void>
  /** Updates positions after a node has been deleted with its descendants. @param node the node before the deletion */
  readonly remove: (session: DbSession, table: TreeTable, node: TreeNode) => Promise<void>
}
