import type { DataSource } from 'typeorm'
import type { Bind } from '../../connection/compile'
import type { DbSession } from '../../connection/db-session'
import { tableSql } from '../../dialect/table-sql'
import { toBindParameter } from '../../read/row'
import type { ColumnMetadata } from '../../schema/metadata'
import { runSql } from '../plain-sql'
import type { Bookkeeping } from './bookkeeping'
import type { TreeNode, TreeTable } from './table'

/**
 * Closure table: it has a row for each pair of a node and one of its ancestors, and for each node with itself. Its
 * foreign keys cascade.
 */
export const closureTable: Bookkeeping = {
  insert: async (session, table, node, parent) => {
    const { dataSource } = session
    const { name, ancestor, descendant } = closureColumnsOf(dataSource, table)
    const into = `INSERT INTO ${name} (${[...ancestor, ...descendant].join(', ')})`
    await runSql(session, (bind) => {
      const ownKey = (): readonly string[] => bindKey(dataSource, table, node.key, bind)
      return `${into} VALUES (${[...ownKey(), ...ownKey()].join(', ')})`
    })
    if (parent === undefined) return
    await runSql(session, (bind) => {
      const ownKey = bindKey(dataSource, table, node.key, bind)
      const ofParent = equal(descendant, bindKey(dataSource, table, parent.key, bind))
      return `${into} SELECT ${[...ancestor, ...ownKey].join(', ')} FROM ${name} WHERE ${ofParent}`
    })
  },
  move: async (session, table, node, parent) => {
    const { dataSource } = session
    const { name, ancestor, descendant } = closureColumnsOf(dataSource, table)
    await runSql(session, (bind) => {
      const subtree = (): string => subtreeSql(dataSource, table, node, bind)
      const inside = `(${descendant.join(', ')}) IN ${subtree()}`
      return `DELETE FROM ${name} WHERE ${inside} AND (${ancestor.join(', ')}) NOT IN ${subtree()}`
    })
    if (parent === undefined) return
    await runSql(session, (bind) => {
      const selected = [
        ...ancestor.map((column) => `above.${column}`),
        ...descendant.map((column) => `below.${column}`),
      ]
      const where = [
        equal(
          descendant.map((column) => `above.${column}`),
          bindKey(dataSource, table, parent.key, bind),
        ),
        equal(
          ancestor.map((column) => `below.${column}`),
          bindKey(dataSource, table, node.key, bind),
        ),
      ]
      return (
        `INSERT INTO ${name} (${[...ancestor, ...descendant].join(', ')}) ` +
        `SELECT ${selected.join(', ')} FROM ${name} above CROSS JOIN ${name} below WHERE ${where.join(' AND ')}`
      )
    })
  },
  // Deletes most rows that the cascading foreign keys would delete later. This is only for speed: the deletion of a
  // chain of 400 nodes took SQLite 5 seconds without it, and half a second with it. The rows of the node itself stay,
  // so that listeners still find its ancestors and descendants.
  beforeRemove: async (session, table, node) => {
    if (table.relation.onDelete !== 'CASCADE') return
    const { dataSource } = session
    const { name, ancestor, descendant } = closureColumnsOf(dataSource, table)
    await runSql(session, (bind) => {
      const inside = `(${descendant.join(', ')}) IN ${subtreeSql(dataSource, table, node, bind)}`
      const isNode = (columns: readonly string[]): string => equal(columns, bindKey(dataSource, table, node.key, bind))
      return `DELETE FROM ${name} WHERE ${inside} AND NOT (${isNode(descendant)}) AND NOT (${isNode(ancestor)})`
    })
  },
  remove: async () => {},
}

/** Number of a node's ancestors, including the node itself. */
export function countLineage(session: DbSession, table: TreeTable, node: TreeNode): Promise<number> {
  return countRows(session, table, 'descendant', node)
}

/** Number of a node's descendants, including the node itself. */
export function countSubtree(session: DbSession, table: TreeTable, node: TreeNode): Promise<number> {
  return countRows(session, table, 'ancestor', node)
}

async function countRows(
  session: DbSession,
  table: TreeTable,
  side: 'ancestor' | 'descendant',
  node: TreeNode,
): Promise<number> {
  const { dataSource } = session
  const { name, [side]: columns } = closureColumnsOf(dataSource, table)
  const [row] = await runSql(session, (bind) => {
    const ofNode = equal(columns, bindKey(dataSource, table, node.key, bind))
    return `SELECT COUNT(*) AS ${dataSource.driver.escape('0')} FROM ${name} WHERE ${ofNode}`
  })
  return Number(row?.[0])
}

/** Maximum {@link countLineage} of a node and its descendants. */
export async function maxLineage(session: DbSession, table: TreeTable, node: TreeNode): Promise<number> {
  const { dataSource } = session
  const { name, descendant } = closureColumnsOf(dataSource, table)
  const columns = descendant.join(', ')
  const [row] = await runSql(session, (bind) => {
    const inside = `(${columns}) IN ${subtreeSql(dataSource, table, node, bind)}`
    const lineages = `SELECT COUNT(*) AS lineage FROM ${name} WHERE ${inside} GROUP BY ${columns}`
    return `SELECT MAX(lineage) AS ${dataSource.driver.escape('0')} FROM (${lineages}) lineages`
  })
  return Number(row?.[0])
}

/**
 * Subquery for the keys of a node and its descendants. It is a derived table because MySQL cannot select from the table
 * of the DELETE.
 */
function subtreeSql(dataSource: DataSource, table: TreeTable, node: TreeNode, bind: Bind): string {
  const { name, ancestor, descendant } = closureColumnsOf(dataSource, table)
  const ofNode = equal(ancestor, bindKey(dataSource, table, node.key, bind))
  return `(SELECT * FROM (SELECT ${descendant.join(', ')} FROM ${name} WHERE ${ofNode}) AS subtree)`
}

/** The closure table and its columns, as escaped names. */
interface ClosureColumns {
  readonly name: string
  readonly ancestor: readonly string[]
  readonly descendant: readonly string[]
}

function closureColumnsOf(dataSource: DataSource, { metadata }: TreeTable): ClosureColumns {
  const { closureJunctionTable: junction } = metadata
  const names = (columns: readonly ColumnMetadata[]): readonly string[] =>
    columns.map(({ databaseName }) => dataSource.driver.escape(databaseName))
  return {
    name: tableSql(dataSource, junction),
    ancestor: names(junction.ancestorColumns),
    descendant: names(junction.descendantColumns),
  }
}

function bindKey(
  dataSource: DataSource,
  { key }: TreeTable,
  values: readonly unknown[],
  bind: Bind,
): readonly string[] {
  return key.map((column, index) => bind(toBindParameter(dataSource, column, values[index])))
}

function equal(columns: readonly string[], placeholders: readonly string[]): string {
  return columns.map((column, index) => `${column} = ${placeholders[index]}`).join(' AND ')
}
