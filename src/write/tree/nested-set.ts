import type { Bind } from '../../connection/compile'
import type { DbSession } from '../../connection/db-session'
import { columnSql } from '../../read/row'
import type { Bookkeeping } from './bookkeeping'
import { equalSql, runSql, type TreeNode, type TreeTable, updateSql } from './table'

/**
 * Left and right of a nested set: those of a node enclose those of its descendants. TypeORM's own UPDATE for moves is wrong
 * when the new parent is an ancestor already: the numbers of the subtree then overlap those of other nodes.
 */
export const nestedSet: Bookkeeping = {
  insert: async (session, table, node, parent) => {
    const [, at = 1] = parent === undefined ? [] : bounds(parent)
    if (parent !== undefined) {
      await shift(session, table, at, (value, bind) => `WHEN ${value} >= ${bind(at)} THEN ${value} + 2`)
    }
    const [left = '', right = ''] = columnsOf(session, table)
    await runSql(
      session,
      (bind) =>
        `${updateSql(session, table)} ${left} = ${bind(at)}, ${right} = ${bind(at + 1)} ` +
        `WHERE ${equalSql(session.dataSource, table.key, node.key, bind)}`,
    )
  },
  move: async (session, table, node, parent) => {
    // Another root is refused, so that nothing is moved away from its parent without a new one.
    if (parent === undefined) return
    const [left, right] = bounds(node)
    const [outerLeft, end] = bounds(parent)
    if (outerLeft >= left && outerLeft <= right) {
      throw new Error(`left and right of ${table.metadata.tableName} contradict its parent keys: rebuild them`)
    }
    // The subtree becomes the last child. What lies between its old and its new place makes room, or closes the gap.
    const size = right - left + 1
    const isForward = end > right
    const [from, to] = isForward ? [right + 1, end - 1] : [end, left - 1]
    const [step, distance] = isForward ? [-size, end - 1 - right] : [size, end - left]
    const inside = (value: string, low: number, high: number, by: number, bind: Bind): string =>
      `WHEN ${value} BETWEEN ${bind(low)} AND ${bind(high)} THEN ${value} + ${bind(by)}`
    await shift(
      session,
      table,
      Math.min(left, from),
      (value, bind) => `${inside(value, left, right, distance, bind)} ${inside(value, from, to, step, bind)}`,
    )
  },
  remove: async (session, table, node) => {
    // By ON DELETE CASCADE its descendants are gone too.
    const [left, right] = bounds(node)
    await shift(
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
 * Changes left and right by the same rule.
 * @param lowest no number below is changed
 * @param rule branches of CASE
 */
async function shift(
  session: DbSession,
  table: TreeTable,
  lowest: number,
  rule: (value: string, bind: Bind) => string,
): Promise<void> {
  const columns = columnsOf(session, table)
  await runSql(session, (bind) => {
    const set = columns.map((column) => `${column} = CASE ${rule(column, bind)} ELSE ${column} END`)
    return `${updateSql(session, table)} ${set.join(', ')} WHERE ${columns.at(-1)} >= ${bind(lowest)}`
  })
}
