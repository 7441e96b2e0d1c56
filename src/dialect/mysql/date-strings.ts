import type { DataSource } from 'typeorm'
import { mysqlOptionsOf } from '../../schema/mysql-options'

/**
 * Returns a function that parses the text of a date-time as mysql2 does by default. With TypeORM's option `dateStrings`, mysql2
 * returns texts in the time zone of its option `timezone`. TypeORM does not parse those of a `timestamp`, and parses others in
 * the time zone of the process.
 * @returns undefined without the option `dateStrings`
 */
export function buildDateStringReader(dataSource: DataSource): ((value: unknown) => unknown) | undefined {
  const { timezone = 'local', dateStrings = false } = mysqlOptionsOf(dataSource)
  if (dateStrings === false) return undefined
  const offset = timezone === 'local' ? '' : timezone
  return (value) => {
    if (typeof value !== 'string') return value
    const date = new Date(`${value.replace(' ', 'T')}${offset}`)
    return Number.isNaN(date.getTime()) ? value : date
  }
}
