import type { DbSession } from '../../connection/db-session'
import type { TreeNode, TreeTable } from './table'

/** Keeps what TypeORM stores of a tree besides its parent keys. All of it is in the transaction of the write. */
export interface Bookkeeping {
  /** @param node is stored, without a position */
  readonly insert: (session: DbSession, table: TreeTable, node: TreeNode, parent: TreeNode | undefined) => Promise<void>
  /**
   * @param node as it was before it was moved, with all that hangs on it
   * @param parent the new one, which is none of its descendants; undefined for a node that becomes a root
   */
  readonly move: (session: DbSession, table: TreeTable, node: TreeNode, parent: TreeNode | undefined) => Promise<void>
  /** @param node is about to be deleted, with all that hangs on it; what this changes is rolled back if it is not */
  readonly beforeRemove?: (session: DbSession, table: TreeTable, node: TreeNode) => Promise<void>
  /** @param node as it was before it was deleted, with all that hung on it */
  readonly remove: (session: DbSession, table: TreeTable, node: TreeNode) => Promise<void>
}
