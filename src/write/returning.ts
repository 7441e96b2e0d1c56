import type { DataSource } from 'typeorm'
import { selection } from '../read/row'
import type { ReadColumn } from '../schema/stored-column'

/** Whether all columns are stored in the table: RETURNING cannot compute virtual columns. */
export function isTable(columns: readonly ReadColumn[]): boolean {
  return columns.every(({ column }) => !column.isVirtualProperty)
}

/** The clause RETURNING with these columns, each with its position as its name; empty without columns. */
export function returning(dataSource: DataSource, columns: readonly ReadColumn[]): string {
  const { driver } = dataSource
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${driver.escape(name)}`)
  return names.length === 0 ? '' : ` RETURNING ${names.join(', ')}`
}
