import type { DataSource, EntityMetadata } from 'typeorm'
import type { Bind } from '../../connection/compile'
import type { DbSession } from '../../connection/db-session'
import { executeWrite, type RawRow } from '../../connection/statement'
import { withComment } from '../../dialect/statement-comment'
import { columnSql, type Row, readerOf, selection, toParameter } from '../../read/row'
import { memoize } from '../../schema/memoize'
import type { ColumnMetadata, RelationMetadata } from '../../schema/metadata'
import { buildReadColumn, type ReadColumn } from '../../schema/stored-column'

/** The table of a tree, and which of its columns say how its nodes hang together. */
export interface TreeTable {
  readonly metadata: EntityMetadata
  /** The escaped name. */
  readonly name: string
  readonly relation: RelationMetadata
  readonly key: readonly ReadColumn[]
  /** The foreign key to the parent. */
  readonly parent: readonly ReadColumn[]
  /** What that foreign key refers to: mostly the key. */
  readonly reference: readonly ReadColumn[]
  /** The columns in which TypeORM stores the position of a node: left and right of a nested set, a materialized path. */
  readonly position: readonly ReadColumn[]
  /** All of these. */
  readonly columns: readonly ReadColumn[]
}

/** A row of the table. */
export interface TreeNode {
  readonly key: readonly unknown[]
  /** Undefined for a root. */
  readonly parent: readonly unknown[] | undefined
  readonly reference: readonly unknown[]
  readonly position: readonly unknown[]
}

export const treeTableOf = memoize((metadata: EntityMetadata, dataSource: DataSource): TreeTable => {
  const { treeParentRelation: relation, nestedSetLeftColumn, nestedSetRightColumn, materializedPathColumn } = metadata
  if (relation === undefined) throw new Error(`${metadata.name} is a tree without @TreeParent`)
  const build = (columns: readonly (ColumnMetadata | undefined)[]): readonly ReadColumn[] =>
    columns.flatMap((column) => (column === undefined ? [] : buildReadColumn(column, dataSource)))
  const key = build(metadata.primaryColumns)
  const parent = build(relation.joinColumns)
  const reference = build(relation.joinColumns.map((column) => column.referencedColumn))
  const position = build([nestedSetLeftColumn, nestedSetRightColumn, materializedPathColumn])
  const columns = [...key, ...parent, ...reference, ...position]
  return { metadata, name: tableSql(dataSource, metadata), relation, key, parent, reference, position, columns }
})

/** The escaped name of a table. */
export function tableSql({ driver }: DataSource, { tablePath }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.')
}

/** Runs a statement over the tables of a tree. @param write writes its text, in which each bound value is used once */
export async function runSql(session: DbSession, write: (bind: Bind) => string): Promise<readonly RawRow[]> {
  const { driver } = session.dataSource
  const values: unknown[] = []
  const bind: Bind = (value) => {
    const index = values.push(value) - 1
    return driver.createParameter(`tree_${index}`, index)
  }
  const sql = withComment(write(bind))
  const sources = values.map((_, index) => ({ index, constant: undefined }))
  const { records } = await executeWrite(session, { sql, sources }, values)
  return records
}

/** UPDATE up to SET. Keeps MySQL from changing columns that every UPDATE changes, as `@UpdateDateColumn`: the records are the same. */
export function updateSql({ dataSource }: DbSession, { name, metadata }: TreeTable): string {
  const kept = metadata.columns
    .filter(({ onUpdate }) => onUpdate !== undefined)
    .map(({ databaseName }) => dataSource.driver.escape(databaseName))
  return `UPDATE ${name} SET ${kept.map((column) => `${column} = ${column}, `).join('')}`
}

/** Compares columns with values, which are not null. */
export function equalSql(
  dataSource: DataSource,
  columns: readonly ReadColumn[],
  values: readonly unknown[],
  bind: Bind,
): string {
  const equal = (column: ReadColumn, index: number): string =>
    `${columnSql(dataSource, column)} = ${bind(toParameter(dataSource, column, values[index]))}`
  return columns.map(equal).join(' AND ')
}

/**
 * Reads nodes by some of their columns, those that are soft-deleted too. Reads two at most.
 * @param values undefined for nodes in which the columns are null
 */
export async function readNodes(
  session: DbSession,
  table: TreeTable,
  where: readonly ReadColumn[],
  values: readonly unknown[] | undefined,
): Promise<readonly TreeNode[]> {
  const { dataSource } = session
  const { driver } = dataSource
  const selected = selection(dataSource, table.columns).map(([column, name]) => `${column} AS ${driver.escape(name)}`)
  const rows = await runSql(session, (bind) => {
    const isNull = where.map((column) => `${columnSql(dataSource, column)} IS NULL`).join(' AND ')
    const condition = values === undefined ? isNull : equalSql(dataSource, where, values, bind)
    return `SELECT ${selected.join(', ')} FROM ${table.name} WHERE ${condition} LIMIT 2`
  })
  return rows.map((raw) => toNode(table, readerOf(table.columns, dataSource)(raw)))
}

function toNode({ key, parent, reference, position }: TreeTable, row: Row): TreeNode {
  const rest = row.map((value) => value ?? null)
  const take = ({ length }: readonly ReadColumn[]): readonly unknown[] => rest.splice(0, length)
  const [ownKey, ofParent] = [take(key), take(parent)]
  return {
    key: ownKey,
    parent: ofParent.includes(null) ? undefined : ofParent,
    reference: take(reference),
    position: take(position),
  }
}
