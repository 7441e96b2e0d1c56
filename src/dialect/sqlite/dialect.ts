import type { ColumnType } from 'typeorm'
import type { ColumnMetadata } from '../../schema/metadata'
import { checkedColumns } from '../constraint'
import type { ConstraintViolation, Dialect } from '../dialect'
import { inList, toRows } from '../in-list'
import { sqliteCompared, sqliteCursor, sqliteOperand } from './cursor'
import { globPattern } from './glob'
import { addTimeLimit, whileInTime } from './time-limit'

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

/** Characters of a date and of a time; a date-time has 19. */
const shownLengths: ReadonlyMap<ColumnType, number> = new Map([
  ['date', 10],
  ['time', 8],
])

const isDateTime = ({ type }: ColumnMetadata): boolean => type === 'datetime' || type === Date

export const sqlite: Dialect = {
  equalsAny: (column, _, values) => inList(column, values),
  equalsAnyRow: (columns, _, rows) => `(${columns.join(', ')}) IN (VALUES ${toRows(rows)})`,
  truncated: ({ valueColumn: { type } }, column, digits) => {
    // Bounds have no trailing zeros.
    if (digits === 'milliseconds') return `rtrim(substr(${column}, 1, 23), '0')`
    return `substr(${column}, 1, ${shownLengths.get(type) ?? 19})`
  },
  matches: (column, pattern, ignoreCase, bind) => `${column} GLOB ${bind(globPattern(pattern, ignoreCase))}`,
  // Stored as text, with three decimals by TypeORM and with none by `CURRENT_TIMESTAMP`: without trailing zeros a bound sorts
  // before both.
  equalsText: (one, other) => `${one} = ${other}`,
  bound: (column, stored) =>
    isDateTime(column) && typeof stored === 'string' ? stored.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : stored,
  written: (_, stored) => stored,
  compared: sqliteCompared,
  operand: sqliteOperand,
  // It has neither booleans nor dates: they are bound as TypeORM would write them. The driver sqlite3 knows no bigint, and binds null.
  parameter: (value) => {
    if (typeof value === 'boolean') return Number(value)
    if (typeof value === 'bigint') return String(value)
    return value instanceof Date ? value.toISOString().replace('T', ' ').replace('Z', '') : value
  },
  // Integers that a double cannot hold as text (specification: Values in JSON), JSONB, which is bytes, as JSON.
  read: ({ valueType, valueColumn }, column) => {
    if (valueColumn.type === 'jsonb') return `json(${column})`
    return valueType?.mayExceedDouble && valueColumn.transformer === undefined ? `CAST(${column} AS TEXT)` : column
  },
  // Unlike LENGTH, it does not read the pages that a long value is on. SQLite has it from 3.43 on.
  bytes: (_, column) => `octet_length(${column})`,
  readBack: (stored) => {
    if (isDateTime(stored.valueColumn)) return readDateTime
    return stored.valueType?.mayExceedDouble && stored.valueColumn.transformer === undefined ? readInteger : undefined
  },
  shown: ({ valueColumn }) => (isDateTime(valueColumn) ? shownDateTime : undefined),
  cursorSql: sqliteCursor,
  areNullsLeast: true,
  knowsNullsOrder: true,
  sharesConnection: true,
  lockTable: undefined,
  concatenate: (first, second) => `${first} || ${second}`,
  isTextLoose: false,
  indexesReferences: false,
  spellsDefaults: true,
  hasOnUpdate: false,
  returning: () => true,
  dangersOf: async (_, ask) => {
    const [setting] = await ask('SELECT foreign_keys, sqlite_version() AS version FROM pragma_foreign_keys')
    const { foreign_keys: areChecked, version = '' } = setting ?? {}
    const [major = 0, minor = 0] = String(version).split('.').map(Number)
    return [
      ...(areChecked === 0 ? ['foreign_keys is off: SQLite checks no foreign key'] : []),
      ...(major === 3 && minor < 43 ? [`SQLite ${version} has no octet_length: 3.43 is needed to read records`] : []),
    ]
  },
  prepareConnections: addTimeLimit,
  whileInTime: ({ options }, column) => (options.type === 'better-sqlite3' ? whileInTime(column) : undefined),
  cancel: undefined,
  prepareRunner: () => undefined,
  discard: () => undefined,
  withoutValues: ({ message }) => message,
  transientErrorOf: ({ code = '', message }) => {
    if (code === 'SQLITE_BUSY_SNAPSHOT') return 'again'
    if (code === 'SQLITE_INTERRUPT') return 'timeout'
    const isUnavailable = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|NOMEM)/.test(code)
    return isUnavailable || /not open|is closed/.test(message) ? 'unavailable' : undefined
  },
  // By the message, since the code for a foreign key depends on the action that refused. What else a constraint or a trigger
  // (`RAISE(ABORT, …)`) refuses, it refuses for the values.
  violationOf: ({ message, code }, metadata): ConstraintViolation | undefined => {
    if (message.endsWith('too many levels of trigger recursion')) return { kind: 'depth', columns: [] }
    if (!code?.startsWith('SQLITE_CONSTRAINT')) return undefined
    if (message.endsWith('FOREIGN KEY constraint failed')) return { kind: 'reference', columns: [] }
    const [, constraint, list = ''] = /(UNIQUE|NOT NULL|CHECK) constraint failed: (.*)$/.exec(message) ?? []
    if (constraint === 'CHECK') return { kind: 'value', columns: checkedColumns(metadata, list) }
    const columns = metadata.columns
      .map(({ databaseName }) => databaseName)
      .map((name) => ({ name, position: `${list}, `.indexOf(`${metadata.tableName}.${name}, `) }))
      .filter(({ position }) => position >= 0)
      .sort((one, other) => one.position - other.position)
      .map(({ name }) => name)
    if (constraint === 'UNIQUE') return { kind: 'unique', columns }
    return { kind: 'value', columns: constraint === undefined ? [] : columns }
  },
}
