import type { DataSource } from 'typeorm'
import { isComputed, type ReadColumn } from '../../schema/stored-column'
import { type Pools, type TypeParser, typeParserOf } from './connection'

/** Types of instants, each with the number by which pg knows its parser. */
const instants: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ['timestamp', 1114],
  ['timestamp without time zone', 1114],
  ['datetime', 1114],
  [Date, 1114],
  ['timestamptz', 1184],
  ['timestamp with time zone', 1184],
])

/** Whether a column is read as text: most instants are only shown, and of the date that pg makes of one its text would be made anew. */
export function isInstant({ column, valueColumn: { type, isArray, transformer } }: ReadColumn): boolean {
  return instants.has(type) && !isArray && transformer === undefined && !isComputed(column)
}

/** How PostgreSQL writes an instant, unless its date style is another, it is infinite, or its year has not four digits. */
const written = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/

/** What becomes of the text of a value, for a column of instants. */
export interface InstantReader {
  /** What pg would have made of it, by the parser that the application has it use. */
  readonly read: (value: unknown) => unknown
  /** As it is shown, `YYYY-MM-DD HH:MM:SS`; undefined for what must be read first. */
  readonly shown: (value: unknown) => string | undefined
}

export function buildInstantReader({ valueColumn: { type } }: ReadColumn, { driver }: DataSource): InstantReader {
  const id = instants.get(type) ?? 0
  const parser = (): TypeParser => typeParserOf(driver as Pools, id)
  const offset = id === 1184 ? '+00' : ''
  // Without an offset it is the local time of this process.
  const isUtc = id === 1184 || Intl.DateTimeFormat().resolvedOptions().timeZone === 'UTC'
  const known = new WeakMap<TypeParser, boolean>()
  const readsUtc = (parse: TypeParser): boolean => {
    const example = known.get(parse) ?? isExample(parse(`2001-02-03 04:05:06.789${offset}`))
    known.set(parse, example)
    return example
  }
  /** The instant without its offset, where it is written in UTC and the application's parser says so too. */
  const inUtc = (value: unknown): string | undefined => {
    if (!isUtc || typeof value !== 'string' || !value.endsWith(offset)) return undefined
    const text = value.slice(0, value.length - offset.length)
    return written.test(text) && readsUtc(parser()) ? text : undefined
  }
  return {
    read: (value) => {
      if (typeof value !== 'string') return value
      const text = inUtc(value)
      return text === undefined ? parser()(value) : new Date(`${text.replace(' ', 'T')}Z`)
    },
    shown: (value) => inUtc(value)?.slice(0, 19),
  }
}

function isExample(read: unknown): boolean {
  return read instanceof Date && read.toJSON() === '2001-02-03T04:05:06.789Z'
}
