import type { DataSource, EntityMetadata } from 'typeorm'
import type { DbSession } from '../../connection/db-session'
import { dialectOf } from '../../dialect/dialect-of'
import { tableSql } from '../../dialect/table-sql'
import { buildRowReader, columnSql, type Row, selection } from '../../read/row'
import type { ColumnMetadata, RelationMetadata } from '../../schema/metadata'
import { buildReadColumn, type ReadColumn } from '../../schema/stored-column'
import { equalSql, runSql } from '../plain-sql'

/** Table of a tree, and the columns that hold its structure. */
export interface TreeTable {
  readonly metadata: EntityMetadata
  /** The escaped name. */
  readonly name: string
  readonly relation: RelationMetadata
  readonly key: readonly ReadColumn[]
  /** The foreign key to the parent. */
  readonly parent: readonly ReadColumn[]
  /** The columns to which the foreign key to the parent refers, usually the key. */
  readonly reference: readonly ReadColumn[]
  /** Columns in which TypeORM stores the position of a node: left and right of a nested set, or a materialized path. */
  readonly position: readonly ReadColumn[]
  /** All columns above, in this order: `key`, `parent`, `reference`, `position`. */
  readonly columns: readonly ReadColumn[]
}

/** Structure columns of one row. */
export interface TreeNode {
  readonly key: readonly unknown[]
  /** Undefined for a root. */
  readonly parent: readonly unknown[] | undefined
  readonly reference: readonly unknown[]
  readonly position: readonly unknown[]
}

/** @throws {Error} if the entity has no `@TreeParent` */
export function treeTableOf(metadata: EntityMetadata, dataSource: DataSource): TreeTable {
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
}

/** Prevents other transactions from writing to a tree until this one ends. */
export async function lockTree(session: DbSession, { name }: TreeTable): Promise<void> {
  const lock = dialectOf(session.dataSource).lockTable?.(name)
  if (lock !== undefined) await runSql(session, () => lock)
}

/**
 * Start of an UPDATE, up to and including SET. Columns with `ON UPDATE`, such as an `@UpdateDateColumn` on MySQL, are
 * set to their own value, because a new position does not change the record.
 */
export function updateSql({ dataSource }: DbSession, { name, metadata }: TreeTable): string {
  const onUpdateColumns = metadata.columns
    .filter(({ onUpdate }) => onUpdate !== undefined)
    .map(({ databaseName }) => dataSource.driver.escape(databaseName))
  return `UPDATE ${name} SET ${onUpdateColumns.map((column) => `${column} = ${column}, `).join('')}`
}

/**
 * Reads at most two nodes by some of their columns, including soft-deleted ones.
 * @param values of the columns in `where`; undefined selects nodes whose columns are null
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
    const isNull = where.map((column) => `${columnSql(dataSource, column)} IS NULL`).join(' OR ')
    const condition = values === undefined ? isNull : equalSql(dataSource, where, values, bind)
    return `SELECT ${selected.join(', ')} FROM ${table.name} WHERE ${condition} LIMIT 2`
  })
  const readRow = buildRowReader(table.columns, dataSource)
  return rows.map((raw) => toNode(table, readRow(raw)))
}

function toNode({ key, parent, reference, position }: TreeTable, row: Row): TreeNode {
  const remaining = row.map((value) => value ?? null)
  const takeValues = ({ length }: readonly ReadColumn[]): readonly unknown[] => remaining.splice(0, length)
  const [ownKey, parentKey] = [takeValues(key), takeValues(parent)]
  return {
    key: ownKey,
    parent: parentKey.includes(null) ? undefined : parentKey,
    reference: takeValues(reference),
    position: takeValues(position),
  }
}
