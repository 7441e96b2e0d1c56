import type { DataSource } from 'typeorm'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { dateTimeKind } from '../value/date-time'
import { dateTimeBound, readExpression } from './sqlite'
import type { RawRow } from './statement'

/** The values of one row, in the order of `resource.row`, as TypeORM hands them to entities. */
export type Row = readonly unknown[]

/** An escaped column, of the statement's one table or of an alias. */
export function columnName({ driver }: DataSource, { column }: Field, alias?: string): string {
  const name = driver.escape(column.databaseName)
  return alias === undefined ? name : `${driver.escape(alias)}.${name}`
}

/** The columns of `resource.row` as expressions, named by their position. */
export function selection(dataSource: DataSource, { row }: Resource, alias?: string): readonly [string, string][] {
  return row.map((field, index) => [readExpression(field, columnName(dataSource, field, alias)), `c${index}`])
}

/** Reads back what {@link selection} has named. */
export function hydrate(dataSource: DataSource, { row }: Resource, raw: RawRow): Row {
  return row.map((field, index) => dataSource.driver.prepareHydratedValue(raw[`c${index}`], field.valueColumn))
}

/** What TypeORM binds for a value of this field: its transformer applied, dates and booleans as the driver stores them. */
export function toParameter(dataSource: DataSource, field: Field, value: unknown): unknown {
  const stored = dataSource.driver.preparePersistentValue(value, field.valueColumn)
  return field.kind === dateTimeKind ? dateTimeBound(value, stored) : stored
}
