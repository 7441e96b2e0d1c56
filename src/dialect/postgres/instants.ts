import type { DataSource } from 'typeorm'
import { isComputed } from '../../schema/metadata'
import type { ReadColumn } from '../../schema/stored-column'
import { type PostgresDriver, type TypeParser, typeParserOf } from './connection'

/** OID of `timestamptz`. */
const timestamptz = 1184
/** Column types of date-times, each with the OID of the type, by which pg selects the parser. */
const dateTimeTypes: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ['timestamp', 1114],
  ['timestamp without time zone', 1114],
  ['datetime', 1114],
  [Date, 1114],
  ['timestamptz', timestamptz],
  ['timestamp with time zone', timestamptz],
])

/**
 * Whether a column is a date-time that is read as text. Most date-times are only rendered as JSON: pg would parse the
 * text into a `Date`, which would then be formatted as text again.
 */
export function isInstantColumn({ column, valueColumn: { type, isArray, transformer } }: ReadColumn): boolean {
  return dateTimeTypes.has(type) && !isArray && transformer === undefined && !isComputed(column)
}

/**
 * PostgreSQL's text form of a date-time without offset. Does not match other date styles, infinity, and years without
 * four digits.
 */
const dateTimePattern = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/

/** Converts the text of a date-time column. */
export interface DateTimeReader {
  /** Converts a text into the value that pg would return, by pg's own parser or that of the application. */
  readonly read: (value: unknown) => unknown
  /**
   * Converts a text into the text in JSON, `YYYY-MM-DD HH:MM:SS`; undefined if it has to be parsed with `read` first.
   */
  readonly toJsonText: (value: unknown) => string | undefined
}

export function buildDateTimeReader({ valueColumn: { type } }: ReadColumn, { driver }: DataSource): DateTimeReader {
  const typeId = dateTimeTypes.get(type) ?? 0
  const parser = (): TypeParser => typeParserOf(driver as PostgresDriver, typeId)
  const offset = typeId === timestamptz ? '+00' : ''
  // pg reads a `timestamp` without time zone as local time of this process.
  const isUtc = typeId === timestamptz || Intl.DateTimeFormat().resolvedOptions().timeZone === 'UTC'
  const parsersReadUtc = new WeakMap<TypeParser, boolean>()
  /** Whether a parser reads UTC, tested with an example: the application may have installed its own parser. */
  const readsUtc = (parse: TypeParser): boolean => {
    const result = parsersReadUtc.get(parse) ?? isExampleDate(parse(`2001-02-03 04:05:06.789${offset}`))
    parsersReadUtc.set(parse, result)
    return result
  }
  /** The text without its offset if it is in UTC, and the parser reads it as UTC; otherwise undefined. */
  const utcTextOf = (value: unknown): string | undefined => {
    if (!isUtc || typeof value !== 'string' || !value.endsWith(offset)) return undefined
    const text = value.slice(0, value.length - offset.length)
    return dateTimePattern.test(text) && readsUtc(parser()) ? text : undefined
  }
  return {
    read: (value) => {
      if (typeof value !== 'string') return value
      const text = utcTextOf(value)
      return text === undefined ? parser()(value) : new Date(`${text.replace(' ', 'T')}Z`)
    },
    toJsonText: (value) => utcTextOf(value)?.slice(0, 19),
  }
}

function isExampleDate(parsed: unknown): boolean {
  return parsed instanceof Date && parsed.toJSON() === '2001-02-03T04:05:06.789Z'
}
