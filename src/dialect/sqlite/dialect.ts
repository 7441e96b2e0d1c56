import { isDate } from 'node:util/types'
import type { ColumnType } from 'typeorm'
import type { ColumnMetadata } from '../../schema/metadata'
import type { StoredColumn } from '../../schema/stored-column'
import { checkedColumns } from '../constraint'
import type { ConstraintViolation, Dialect } from '../dialect'
import { exactEquality, type InRows, toRows } from '../in-list'
import { objectParameter } from '../object-parameter'
import { sqliteAggregates } from './aggregate-sql'
import { sqliteCompared, sqliteCursor, sqliteOperand } from './cursor'
import { globPattern } from './glob'
import { toStoredDecimal } from './stored-decimal'
import { sqliteTextSearch } from './text-search'
import { addTimeLimit, timeLimitSql } from './time-limit'

/**
 * A stored date-time whose day exists in its month. 29 February of years divisible by 100 never matches, which is only
 * slower for those that are leap years: values that do not match are read by TypeORM.
 */
const storedDateTimePattern =
  /^(?:\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|\d\d(?:0[48]|[2468][048]|[13579][26])-02-29) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?$/

const isStoredDateTime = (value: unknown): value is string =>
  typeof value === 'string' && storedDateTimePattern.test(value)

/** Text of a stored date-time in JSON: without the fraction. The time zone is the same, because it is stored in UTC. */
const dateTimeJsonText = (value: unknown): string | undefined =>
  isStoredDateTime(value) ? value.slice(0, 19) : undefined

/** Parses the stored format directly. This is faster than TypeORM, which checks for other formats first. */
const readDateTime = (value: unknown): unknown =>
  isStoredDateTime(value) ? new Date(`${value.replace(' ', 'T')}Z`) : value

/** Converts the text of an integer into a number, as TypeORM returns it, if it is a safe integer. */
const readInteger = (value: unknown): unknown =>
  Number.isSafeInteger(Number(value ?? Number.NaN)) ? Number(value) : value

/** Column types whose integers a double may not represent. */
const wideIntegers: ReadonlySet<ColumnType> = new Set(['bigint', 'int8', 'unsigned big int'])

/**
 * Reads integers for a transformer as numbers, as TypeORM does. Those that a number does not represent are read as text, as the
 * drivers of the other databases return them: TypeORM would round them, and a write of the rounded value would change nothing.
 */
const integerForTransformer = (column: string): string =>
  `CASE WHEN ${column} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} THEN ${column} ELSE CAST(${column} AS TEXT) END`

/** Length of a date and of a time in JSON, in characters. A date-time has 19. */
const shownLengths: ReadonlyMap<ColumnType, number> = new Map([
  ['date', 10],
  ['time', 8],
])

/** `NOCASE` and `RTRIM` treat different texts as equal. A foreign key is compared with the collation of its target. */
const hasLooseCollation: Dialect['hasLooseCollation'] = ({ column, valueColumn }) =>
  [column, valueColumn].some(({ collation }) => collation !== undefined && collation.toUpperCase() !== 'BINARY')

/** Expression of a column for exact comparisons, independent of its collation. */
const exact = (_: StoredColumn, column: string): string => `${column} COLLATE BINARY`

const inRows: InRows = (columns, rows) => `(${columns.join(', ')}) IN (VALUES ${toRows(rows)})`

const equality = exactEquality({ hasLooseCollation, exact, inRows })

/** Messages of errors in the expression of a generated column or CHECK, which have no error codes of their own. */
const failedComputation = /^(SQLITE_ERROR: )?(malformed JSON|integer overflow)$/

const isDateTime = ({ type }: ColumnMetadata): boolean => type === 'datetime' || type === Date

/**
 * Adds the digits of the milliseconds that a date-time lacks. TypeORM stores `10:00:00.500` and `10:00:00.000`, and
 * `CURRENT_TIMESTAMP` stores `10:00:00`. Operands have no trailing zeros (see `toComparedValue`): they are `10:00:00.5` and
 * `10:00:00`. A date-time without milliseconds has 19 characters. A transformer may store a number, which has one form.
 */
const greatestFormSql: Dialect['greatestFormSql'] = ({ valueColumn }, operand) =>
  isDateTime(valueColumn)
    ? `iif(typeof(${operand}) = 'text', ${operand} || substr('.000', length(${operand}) - 18), ${operand})`
    : operand

/** The texts as which the value of an operand may be stored: two for a date-time, otherwise one. */
const storedForms = (stored: StoredColumn, operand: string): readonly string[] => [
  ...new Set([operand, greatestFormSql(stored, operand)]),
]

/** One row for each combination of the stored forms of the operands. */
const rowForms = (stored: readonly StoredColumn[], operands: readonly string[]): readonly (readonly string[])[] =>
  stored.reduce<readonly (readonly string[])[]>(
    (rows, column, index) =>
      rows.flatMap((row) => storedForms(column, operands[index] ?? '').map((form) => [...row, form])),
    [[]],
  )

export const sqlite: Dialect = {
  ...sqliteAggregates,
  textSearch: sqliteTextSearch,
  equalsAny: (stored, column, operands) =>
    equality.equalsAny(
      stored,
      column,
      operands.flatMap((operand) => storedForms(stored, operand)),
    ),
  equalsAnyRow: (stored, columns, rows) =>
    equality.equalsAnyRow(
      stored,
      columns,
      rows.flatMap((row) => rowForms(stored, row)),
    ),
  // TypeORM stores date-times with milliseconds, whatever the precision of the column is.
  equalsStored: () => undefined,
  truncateSql: ({ valueColumn: { type } }, column, precision) => {
    const shownLength = shownLengths.get(type)
    if (precision === 'shown' || shownLength !== undefined) return `substr(${column}, 1, ${shownLength ?? 19})`
    // Operands have no trailing zeros (see `toComparedValue`).
    return `rtrim(substr(${column}, 1, 23), '0')`
  },
  likeSql: (_, column, pattern, ignoreCase, bind) => `${column} GLOB ${bind(globPattern(pattern, ignoreCase))}`,
  equalsText: (left, right) => `${left} = ${right}`,
  // A date-time without trailing zeros sorts before or equal to all its stored forms (see `greatestFormSql`).
  toComparedValue: (column, prepared) =>
    isDateTime(column) && typeof prepared === 'string'
      ? prepared.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
      : prepared,
  toStoredValue: toStoredDecimal,
  comparisonSql: sqliteCompared,
  sortSql: sqliteCompared,
  operandSql: sqliteOperand,
  greatestFormSql,
  // SQLite has neither booleans nor dates: they are bound in the format that TypeORM stores. sqlite3 would bind a
  // bigint as null.
  assignmentSql: (_, placeholder) => placeholder,
  toDriverParameter: (value) => {
    if (typeof value === 'boolean') return Number(value)
    if (typeof value === 'bigint') return String(value)
    if (typeof value !== 'object' || value === null) return value
    return isDate(value) ? value.toISOString().replace('T', ' ').replace('Z', '') : objectParameter(value)
  },
  toQueryParameter: (value) => sqlite.toDriverParameter(value),
  // Reads integers that a double may not represent as text (specification: Values in JSON), and JSONB, which is binary,
  // as JSON.
  selectSql: ({ valueType, valueColumn }, column) => {
    if (valueColumn.type === 'jsonb') return `json(${column})`
    if (valueColumn.transformer !== undefined) {
      return wideIntegers.has(valueColumn.type) ? integerForTransformer(column) : column
    }
    return valueType?.mayExceedDouble ? `CAST(${column} AS TEXT)` : column
  },
  // Unlike LENGTH, octet_length does not read the pages of a long value. Available from SQLite 3.43.
  sizeSql: (_, column) => `octet_length(${column})`,
  driverValueReader: (stored) => {
    if (isDateTime(stored.valueColumn)) return readDateTime
    return stored.valueType?.mayExceedDouble && stored.valueColumn.transformer === undefined ? readInteger : undefined
  },
  jsonTextReader: ({ valueColumn }) => (isDateTime(valueColumn) ? dateTimeJsonText : undefined),
  cursorSql: sqliteCursor,
  areNullsLeast: true,
  supportsNullsOrder: true,
  correlatesSubqueries: false,
  runsSubqueryOnce: true,
  mergesSubqueries: 'none',
  listsPerParent: 'in',
  // A subquery for each list takes three times as long: SQLite may search all related records for each parent.
  maxUnlimitedManyToMany: 10,
  checkedWriteIsolation: undefined,
  writesBySubquery: true,
  updateLock: 'pessimistic_write',
  locksJoins: false,
  deferredCheckSql: undefined,
  comparesTextLoosely: false,
  failsTransactions: false,
  sharesConnection: true,
  lockTable: undefined,
  concatenate: (first, second) => `${first} || ${second}`,
  hasLooseCollation,
  indexesReferences: false,
  needsDefaultExpressions: true,
  hasOnUpdate: false,
  computesBeforeLimit: 'sorted',
  maxColumns: 2000,
  supportsReturning: () => true,
  settingsWarnings: async (_, runSql) => {
    const [setting] = await runSql(
      'SELECT *, sqlite_version() AS version FROM pragma_foreign_keys, pragma_ignore_check_constraints, pragma_count_changes',
    )
    const {
      foreign_keys: areChecked,
      ignore_check_constraints: ignoresChecks,
      count_changes: returnsCounts,
      version = '',
    } = setting ?? {}
    const [major = 0, minor = 0] = String(version).split('.').map(Number)
    return [
      ...(areChecked === 0 ? ['foreign_keys is off: SQLite does not check foreign keys'] : []),
      ...(ignoresChecks === 1 ? ['ignore_check_constraints is on: SQLite does not check CHECK constraints'] : []),
      ...(returnsCounts === 1 ? ['count_changes is on: bulk requests respond with a count of 0'] : []),
      ...(major === 3 && minor < 43
        ? [`SQLite ${version} has no octet_length, which is needed to read records: use SQLite 3.43 or newer`]
        : []),
    ]
  },
  prepareConnections: addTimeLimit,
  // Unlike an expression of another operator, it has the collation of the column.
  unindexedSql: (column) => `+${column}`,
  likelySql: (predicate) => `likely(${predicate})`,
  // TRUE would be a column with this name, if a table of the statement has one.
  notTrueSql: (predicate) => `(${predicate}) IS NOT 1`,
  timeLimitSql: ({ options }, column) => (options.type === 'better-sqlite3' ? timeLimitSql(column) : undefined),
  cancel: undefined,
  openCursor: undefined,
  limitTransaction: undefined,
  limitsCursorBytes: false,
  prepareRunner: () => undefined,
  settings: undefined,
  discard: () => undefined,
  withoutValues: ({ message }) => message,
  transientErrorOf: ({ code = '', message }) => {
    if (code === 'SQLITE_BUSY_SNAPSHOT') return 'retry'
    if (code === 'SQLITE_INTERRUPT') return 'timeout'
    const isUnavailable = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|NOMEM)/.test(code)
    return isUnavailable || /not open|is closed/.test(message) ? 'unavailable' : undefined
  },
  // Foreign keys are recognised by the message, because the code depends on the action (RESTRICT, CASCADE …) that
  // failed. All other constraint errors, and those of triggers (`RAISE(ABORT, …)`), concern the values.
  violationOf: ({ message, code }, metadata): ConstraintViolation | undefined => {
    if (message.endsWith('too many levels of trigger recursion')) return { kind: 'depth', columns: [] }
    if (failedComputation.test(message)) return { kind: 'value', columns: [] }
    if (!code?.startsWith('SQLITE_CONSTRAINT')) return undefined
    if (message.endsWith('FOREIGN KEY constraint failed')) return { kind: 'reference', columns: [] }
    const [, constraint, list = ''] = /(UNIQUE|NOT NULL|CHECK) constraint failed: (.*)$/s.exec(message) ?? []
    if (constraint === 'CHECK') return { kind: 'value', columns: checkedColumns(metadata, list) }
    const columns = metadata.columns
      .map(({ databaseName }) => databaseName)
      .map((name) => ({ name, position: `${list}, `.indexOf(`${metadata.tableName}.${name}, `) }))
      .filter(({ position }) => position >= 0)
      .sort((left, right) => left.position - right.position)
      .map(({ name }) => name)
    if (constraint === 'UNIQUE') return { kind: 'unique', columns }
    return { kind: 'value', columns: constraint === undefined ? [] : columns }
  },
}
