import type { Bind } from '../../connection/compile'
import type { DbSession } from '../../connection/db-session'
import { columnSql } from '../../read/row'
import { equalSql, runSql } from '../plain-sql'
import type { Bookkeeping } from './bookkeeping'
import { type TreeNode, type TreeTable, updateSql } from './table'

/**
 * Nested set: the left and right numbers of a node enclose those of its descendants. TypeORM's own UPDATE for moves is
 * wrong if the new parent is already an ancestor: the numbers of the subtree then overlap those of other nodes.
 */
export const nestedSet: Bookkeeping = {
  insert: async (session, table, node, parent) => {
    const [, newLeft = 1] = parent === undefined ? [] : bounds(parent)
    if (parent !== undefined) {
      await updateBounds(
        session,
        table,
        newLeft,
        (value, bind) => `WHEN ${value} >= ${bind(newLeft)} THEN ${value} + 2`,
      )
    }
    const [left = '', right = ''] = columnsOf(session, table)
    await runSql(
      session,
      (bind) =>
        `${updateSql(session, table)} ${left} = ${bind(newLeft)}, ${right} = ${bind(newLeft + 1)} ` +
        `WHERE ${equalSql(session.dataSource, table.key, node.key, bind)}`,
    )
  },
  move: async (session, table, node, parent) => {
    // A second root is refused earlier, so a node is never moved without a new parent.
    if (parent === undefined) return
    const [left, right] = bounds(node)
    const [parentLeft, parentRight] = bounds(parent)
    if (parentLeft >= left && parentLeft <= right) {
      throw new Error(
        `the left and right columns of ${table.metadata.tableName} contradict its parent keys: rebuild the tree`,
      )
    }
    // The subtree becomes the last child of its new parent. The nodes between its old and new position shift by its
    // width.
    const width = right - left + 1
    const movesRight = parentRight > right
    const [from, to] = movesRight ? [right + 1, parentRight - 1] : [parentRight, left - 1]
    const [step, distance] = movesRight ? [-width, parentRight - 1 - right] : [width, parentRight - left]
    const branch = (value: string, low: number, high: number, by: number, bind: Bind): string =>
      `WHEN ${value} BETWEEN ${bind(low)} AND ${bind(high)} THEN ${value} + ${bind(by)}`
    await updateBounds(
      session,
      table,
      Math.min(left, from),
      (value, bind) => `${branch(value, left, right, distance, bind)} ${branch(value, from, to, step, bind)}`,
    )
  },
  remove: async (session, table, node) => {
    // ON DELETE CASCADE has deleted its descendants too.
    const [left, right] = bounds(node)
    await updateBounds(
      session,
      table,
      right,
      (value, bind) => `WHEN ${value} > ${bind(right)} THEN ${value} - ${bind(right - left + 1)}`,
    )
  },
}

function bounds({ position: [left, right] }: TreeNode): readonly [left: number, right: number] {
  return [Number(left), Number(right)]
}

function columnsOf({ dataSource }: DbSession, { position }: TreeTable): readonly string[] {
  return position.map((column) => columnSql(dataSource, column))
}

/**
 * Updates the left and right columns with the same CASE expression.
 * @param lowest smallest number that is changed
 * @param branches WHEN branches of the CASE expression for a column
 */
async function updateBounds(
  session: DbSession,
  table: TreeTable,
  lowest: number,
  branches: (value: string, bind: Bind) => string,
): Promise<void> {
  const columns = columnsOf(session, table)
  await runSql(session, (bind) => {
    const set = columns.map((column) => `${column} = CASE ${branches(column, bind)} ELSE ${column} END`)
    return `${updateSql(session, table)} ${set.join(', ')} WHERE ${columns.at(-1)} >= ${bind(lowest)}`
  })
}
