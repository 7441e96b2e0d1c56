import type { DataSource } from 'typeorm'

/**
 * Returns a function that parses the text of a date-time as mysql2 does by default. With TypeORM's option `dateStrings`, mysql2
 * returns texts: TypeORM leaves those of a `timestamp` as they are, and reads others in the time zone of the process.
 */
export function buildDateStringReader({ options }: DataSource): (value: unknown) => unknown {
  const { timezone = 'local' } = Object({ ...options, ...Object(options.extra) }) as { readonly timezone?: string }
  const offset = timezone === 'local' ? '' : timezone
  return (value) => {
    if (typeof value !== 'string') return value
    const date = new Date(`${value.replace(' ', 'T')}${offset}`)
    return Number.isNaN(date.getTime()) ? value : date
  }
}
