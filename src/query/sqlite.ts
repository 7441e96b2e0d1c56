import { isComputed, type ReadColumn } from '../schema/stored-column'
import { checkedColumns } from './constraint'
import type { Dialect, Failure } from './dialect'
import { globPattern } from './glob'
import { inList } from './in-list'

/** Of a day that its month has: February has its 29th in every fourth year, and in that of a century, which is rare, it is left out. */
const storedDateTime =
  /^(?:\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|\d\d(?:0[48]|[2468][048]|[13579][26])-02-29) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?$/

const isStored = (value: unknown): value is string => typeof value === 'string' && storedDateTime.test(value)

/** A date-time is stored in UTC as it is shown, but for its fraction. */
const shownDateTime = (value: unknown): string | undefined => (isStored(value) ? value.slice(0, 19) : undefined)

/** Sooner than TypeORM, which looks for other spellings first. */
const readDateTime = (value: unknown): unknown => (isStored(value) ? new Date(`${value.replace(' ', 'T')}Z`) : value)

/** As TypeORM hands integers out, where they are safe. */
const readInteger = (value: unknown): unknown =>
  Number.isSafeInteger(Number(value ?? Number.NaN)) ? Number(value) : value

const isDateTime = ({ valueColumn: { type } }: ReadColumn): boolean => type === 'datetime' || type === Date

export const sqlite: Dialect = {
  equalsAny: (column, _, values) => inList(column, values),
  matches: (column, pattern, ignoreCase, bind) => `${column} GLOB ${bind(globPattern(pattern, ignoreCase))}`,
  // Stored as text, with three decimals by TypeORM and with none by `CURRENT_TIMESTAMP`: without trailing zeros a bound sorts
  // before both.
  bound: (value, stored) =>
    value instanceof Date && typeof stored === 'string'
      ? stored.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
      : stored,
  // It has neither booleans nor dates: they are bound as TypeORM would write them.
  parameter: (value) => {
    if (typeof value === 'boolean') return Number(value)
    return value instanceof Date ? value.toISOString().replace('T', ' ').replace('Z', '') : value
  },
  // Integers that a double cannot hold as text (D12), JSONB, which is bytes, as JSON.
  read: ({ kind, valueColumn }, column) => {
    if (valueColumn.type === 'jsonb') return `json(${column})`
    return kind?.wide && valueColumn.transformer === undefined ? `CAST(${column} AS TEXT)` : column
  },
  readBack: (stored) => {
    if (isDateTime(stored)) return readDateTime
    return stored.kind?.wide && stored.valueColumn.transformer === undefined ? readInteger : undefined
  },
  shown: (stored) => (isDateTime(stored) ? shownDateTime : undefined),
  // Integers as text, since a double does not hold all of them: compared with a column of numbers, a text is one again. Not with
  // what is computed.
  place: (stored, column) => {
    const exact = `CASE WHEN typeof(${column}) = 'integer' THEN CAST(${column} AS TEXT) ELSE ${column} END`
    return {
      read: isComputed(stored.column) ? column : exact,
      sorted: column,
      compared: column,
      bound: (placeholder) => placeholder,
    }
  },
  sayNulls: false,
  sharesConnection: true,
  lockTable: undefined,
  isTextLoose: false,
  indexesReferences: false,
  spellsDefaults: true,
  returning: () => true,
  dangersOf: async (_, ask) => {
    const [setting] = await ask('PRAGMA foreign_keys')
    return setting?.['foreign_keys'] === 0 ? ['foreign_keys is off: SQLite checks no foreign key'] : []
  },
  guardPool: () => undefined,
  discard: () => undefined,
  withoutValues: ({ message }) => message,
  troubleOf: ({ code = '', message }) => {
    if (code === 'SQLITE_BUSY_SNAPSHOT') return 'again'
    const isUnavailable = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|INTERRUPT|NOMEM)/.test(code)
    return isUnavailable || /not open|is closed/.test(message) ? 'unavailable' : undefined
  },
  // By the message, since the code for a foreign key depends on the action that refused. What else a constraint or a trigger
  // (`RAISE(ABORT, …)`) refuses, it refuses for the values.
  failureOf: ({ message, code }, metadata): Failure | undefined => {
    if (!code?.startsWith('SQLITE_CONSTRAINT')) return undefined
    if (message.endsWith('FOREIGN KEY constraint failed')) return { kind: 'reference', columns: [] }
    const [, constraint, list = ''] = /(UNIQUE|NOT NULL|CHECK) constraint failed: (.*)$/.exec(message) ?? []
    if (constraint === 'CHECK') return { kind: 'value', columns: checkedColumns(metadata, list) }
    const columns = list.split(', ').map((path) => path.slice(path.lastIndexOf('.') + 1))
    if (constraint === 'UNIQUE') return { kind: 'unique', columns }
    return { kind: 'value', columns: constraint === undefined ? [] : columns }
  },
}
