import type { DataSource, EntityMetadata } from 'typeorm'
import type { World } from '../world/world'

type Row = Readonly<Record<string, unknown>>

/** Every row of a database by `table key`, as the driver returns it. */
export type Stored = ReadonlyMap<string, { readonly metadata: EntityMetadata; readonly row: Row }>

const keyColumn = (metadata: EntityMetadata): string => metadata.primaryColumns[0]?.databaseName ?? 'id'

/** Reads every row of a database. */
export async function readStored({ dataSource, sql }: World): Promise<Stored> {
  const tables = await Promise.all(
    dataSource.entityMetadatas.map(async (metadata) => {
      const rows = await sql(`SELECT * FROM "${metadata.tableName}" ORDER BY "${keyColumn(metadata)}"`)
      return rows.map((row) => [`${metadata.tableName} ${row[keyColumn(metadata)]}`, { metadata, row }] as const)
    }),
  )
  return new Map(tables.flat())
}

/** Differences between rows, as `+ table key`, `- table key` and `~ table key`. */
export function differences(before: Stored, after: Stored): readonly string[] {
  const signOf = (key: string): string => {
    if (!before.has(key)) return '+'
    if (!after.has(key)) return '-'
    return JSON.stringify(before.get(key)?.row) === JSON.stringify(after.get(key)?.row) ? '' : '~'
  }
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  return keys.flatMap((key) => (signOf(key) === '' ? [] : [`${signOf(key)} ${key}`]))
}

/** Undoes changes with SQL statements. */
export async function restoreStored({ dataSource }: World, before: Stored, after: Stored): Promise<void> {
  for (const difference of differences(before, after)) {
    const key = difference.slice(2)
    const { metadata, row } = before.get(key) ?? after.get(key) ?? {}
    if (metadata === undefined || row === undefined) continue
    const statement = { '+': remove, '-': insert, '~': update }[difference[0] as '+' | '-' | '~']
    await statement(dataSource, metadata, row)
  }
}

const where = (dataSource: DataSource, metadata: EntityMetadata, index: number): string =>
  `WHERE ${dataSource.driver.escape(keyColumn(metadata))} = ${placeholder(dataSource, index)}`
const placeholder = ({ driver }: DataSource, index: number): string => driver.createParameter('p', index)
const table = ({ driver }: DataSource, { tableName }: EntityMetadata): string => driver.escape(tableName)

function remove(dataSource: DataSource, metadata: EntityMetadata, row: Row): Promise<unknown> {
  const sql = `DELETE FROM ${table(dataSource, metadata)} ${where(dataSource, metadata, 0)}`
  return dataSource.query(sql, [row[keyColumn(metadata)]])
}

function insert(dataSource: DataSource, metadata: EntityMetadata, row: Row): Promise<unknown> {
  const columns = Object.keys(row).map((column) => dataSource.driver.escape(column))
  const values = columns.map((_, index) => placeholder(dataSource, index))
  const sql = `INSERT INTO ${table(dataSource, metadata)} (${columns}) VALUES (${values})`
  return dataSource.query(sql, Object.values(row))
}

function update(dataSource: DataSource, metadata: EntityMetadata, row: Row): Promise<unknown> {
  const columns = Object.keys(row)
  const sets = columns.map((column, index) => `${dataSource.driver.escape(column)} = ${placeholder(dataSource, index)}`)
  const sql = `UPDATE ${table(dataSource, metadata)} SET ${sets} ${where(dataSource, metadata, columns.length)}`
  return dataSource.query(sql, [...Object.values(row), row[keyColumn(metadata)]])
}
