import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isComputed, type ReadColumn, type StoredColumn } from '../schema/stored-column'

/** The values of one row, in the order of `resource.row` or `entityRow`, as TypeORM hands them to entities. */
export type Row = readonly unknown[]

/** What a row holds for a field: null, a value, or the values of several columns. */
export function fieldValue(resource: Resource, row: Row, field: Field): unknown {
  return valueAt(row, positionsOf(field, resource))
}

/** What a row holds at the positions of a field's columns. */
export function valueAt(row: Row, positions: readonly number[]): unknown {
  if (positions.length === 1) return row[positions[0] ?? -1] ?? null
  const values = positions.map((position) => row[position] ?? null)
  return values.includes(null) ? null : values
}

/** Where a row has the columns of a field. */
export const positionsOf = memoize((field: Field, { columns }: Resource): readonly number[] =>
  field.columns.map((column) => columns.indexOf(column)),
)

/** The values of a field's columns. */
export function toValues({ columns }: Field, value: unknown): readonly unknown[] {
  if (columns.length === 1) return [value]
  return value === null ? columns.map(() => null) : (value as readonly unknown[])
}

/** The value of a field from those of its columns. */
export function fromValues(values: readonly unknown[]): unknown {
  return values.length === 1 ? values[0] : values
}

/** A column as SQL, of the statement's one table or of an alias. */
export function columnSql(dataSource: DataSource, column: ReadColumn, alias?: string): string {
  const known = columnTexts(column, dataSource)
  const text = known.get(alias) ?? writeColumn(dataSource, column, alias)
  known.set(alias, text)
  return text
}

/** A column as it is compared with values, and sorted by. */
export function comparedSql(dataSource: DataSource, column: StoredColumn, alias?: string): string {
  return dialectOf(dataSource).compared(column, columnSql(dataSource, column, alias))
}

/** By alias, of which there are as many as joins are allowed. */
const columnTexts = memoize((_: ReadColumn, __: DataSource) => new Map<string | undefined, string>())

function writeColumn({ driver }: DataSource, { column }: ReadColumn, alias?: string): string {
  const owner = alias === undefined ? undefined : driver.escape(alias)
  if (column.query !== undefined) return `(${column.query(owner ?? driver.escape(column.entityMetadata.tableName))})`
  const name = driver.escape(column.databaseName)
  return owner === undefined ? name : `${owner}.${name}`
}

/** Whether a column may be null. A computed one may, as nothing declares that it is not. */
export function mayBeNull({ column }: ReadColumn): boolean {
  return column.isNullable || isComputed(column)
}

/** What TypeORM binds for a value of this column: its transformer applied, dates and booleans as the driver stores them. */
export function toParameter(dataSource: DataSource, { valueColumn }: ReadColumn, value: unknown): unknown {
  return dialectOf(dataSource).bound(valueColumn, dataSource.driver.preparePersistentValue(value, valueColumn))
}

/** Columns as expressions, named by their position. */
export function selection(
  dataSource: DataSource,
  columns: readonly ReadColumn[],
  alias?: string,
): readonly [string, string][] {
  const { read } = dialectOf(dataSource)
  return columns.map((stored, index) => [read(stored, columnSql(dataSource, stored, alias)), String(index)])
}

/** A stored value that the transformer of its column cannot read. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
  constructor(
    readonly column: ColumnMetadata,
    cause: unknown,
  ) {
    super(`the transformer of ${column.entityMetadata.name}.${column.propertyPath} cannot read what is stored`, {
      cause,
    })
  }
}

/** Reads back what {@link selection} has named. What it returns throws {@link UnreadableError}. */
export const readerOf = memoize((columns: readonly ReadColumn[], dataSource: DataSource): ((raw: RawRow) => Row) => {
  const readers = columns.map((column) => valueReader(column, dataSource))
  return (raw) => readers.map((read, index) => read(raw[index]))
})

/** Reads one value of a row as the driver hands it out. */
export function valueReader(column: ReadColumn, dataSource: DataSource): (raw: unknown) => unknown {
  const { valueType, valueColumn } = column
  const readBack = dialectOf(dataSource).readBack?.(column, dataSource)
  const hydrate = (raw: unknown): unknown =>
    hydrateValue(dataSource.driver, column, readBack === undefined ? raw : readBack(raw))
  if (valueType === undefined || valueColumn.transformer !== undefined) return hydrate
  // TypeORM leaves these as they are.
  if (valueType.name === 'integer') return (raw) => (Number.isSafeInteger(raw) ? raw : hydrate(raw))
  return valueType.name === 'text' ? (raw) => (typeof raw === 'string' ? raw : hydrate(raw)) : hydrate
}

function hydrateValue(driver: DataSource['driver'], { column, valueColumn }: ReadColumn, raw: unknown): unknown {
  // The transformer of a key need not know null, which only a foreign key can be.
  if (raw === null && column !== valueColumn) return null
  // It has been taken apart already, by PostgreSQL's driver or as `hstore`; TypeORM's would do it again.
  const isRead = Array.isArray(raw) || (valueColumn.type === 'hstore' && typeof raw === 'object')
  if (isRead && valueColumn.transformer === undefined) return raw
  try {
    const value: unknown = driver.prepareHydratedValue(raw, valueColumn)
    // What is no date or JSON, though its column is to hold one, stays as it is stored: SQLite takes any text.
    return value instanceof Date && Number.isNaN(value.getTime()) ? raw : value
  } catch (cause) {
    if (valueColumn.transformer !== undefined) throw new UnreadableError(column, cause)
    if (cause instanceof SyntaxError) return raw
    throw cause
  }
}
