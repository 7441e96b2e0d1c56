import type { DataSource } from 'typeorm'

/**
 * Returns a function that parses the text of a date-time as mysql2 does by default. With TypeORM's option `dateStrings`, mysql2
 * returns texts: TypeORM leaves those of a `timestamp` as they are, and reads others in the time zone of the process.
 * @returns undefined without this option
 */
export function buildDateStringReader({ options }: DataSource): ((value: unknown) => unknown) | undefined {
  const { timezone = 'local', dateStrings = false } = Object({ ...options, ...Object(options.extra) }) as DriverOptions
  if (dateStrings === false) return undefined
  const offset = timezone === 'local' ? '' : timezone
  return (value) => {
    if (typeof value !== 'string') return value
    const date = new Date(`${value.replace(' ', 'T')}${offset}`)
    return Number.isNaN(date.getTime()) ? value : date
  }
}

/** Options of mysql2 that TypeORM passes on. Those in `extra` take precedence. */
interface DriverOptions {
  readonly timezone?: string
  readonly dateStrings?: boolean | readonly string[]
}
