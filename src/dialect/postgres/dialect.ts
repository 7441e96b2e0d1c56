import { maxCursorTextLength } from '../../request/cursor'
import { type ColumnMetadata, isComputed } from '../../schema/metadata'
import { type ReadColumn, referencedValueColumn } from '../../schema/stored-column'
import { checkedColumns, uniqueColumns } from '../constraint'
import type { Dialect } from '../dialect'
import { inList, inRows } from '../in-list'
import { limitTransaction } from '../silence'
import { postgresAggregates } from './aggregate-sql'
import { cancelStatement } from './cancel'
import { isPreparedStatementError, type PoolClient, type PostgresDriver } from './connection'
import { openPostgresCursor } from './cursor-rows'
import { isHstoreObject, readHstore } from './hstore'
import { buildDateTimeReader, isInstantColumn } from './instants'
import { preparePools } from './pools'
import { defaultsWarnings } from './session-styles'
import { attachSettings } from './statement-settings'
import { postgresTextSearch } from './text-search'
import { beginWithSettings, supportsSettings } from './transaction-settings'
import { arrayTypes, buildBigIntReader, buildParser, isBigIntColumn, parserOidOf } from './type-parsers'

/** Types that are read as text (`::text`): pg would parse them into objects, and a date into a local date-time. */
const readAsText: ReadonlySet<string> = new Set(['date', 'interval', 'point', 'circle'])
/**
 * Types whose precision is the number of digits of the fraction of a second, with the maximum number of digits that values may
 * have. Date-times have milliseconds.
 */
const roundedTypes: ReadonlyMap<string, number> = new Map([
  ['timestamp without time zone', 3],
  ['timestamp with time zone', 3],
  ['time with time zone', 6],
  ['interval', 6],
])
/** Query for whether the default collation converts the case of non-ASCII letters. */
const collationQuery = `SELECT lower('É') = 'é' AS "folds"`
/** Types for which `octet_length` works without a cast. */
const octetLengthTypes: ReadonlySet<string> = new Set([
  ...['text', 'varchar', 'character varying', 'char', 'character', 'bytea', 'simple-json', 'simple-array'],
])

/** The functions of `LIKE` and `ILIKE` that reject a column with a nondeterministic collation. */
const likeRoutines = /^(GenericMatchText|Generic_Text_IC_like)$/

/** The function that rejects a `tsquery` with too many operators, which PostgreSQL reports as an internal error. */
const tsqueryStackRoutine = 'pushOpStack'

/**
 * SQLSTATEs of rules that the application defines in the database: WITH CHECK OPTION (class 44), and errors that
 * triggers raise: class 45 and the implementation-defined classes. Of the latter, PostgreSQL itself uses P0 for errors
 * of PL/pgSQL, which is included, and 53, 54, 55, 57, 58, 72 and XX for its own errors, which are excluded.
 */
const refusalStates = /^(44|45|(?!5[34578]|72|XX)[5-9I-Z])/
/**
 * Functions of PostgreSQL that report insufficient privilege (42501) because of the record: the check of policies of row
 * level security, and RAISE in PL/pgSQL. If another function reports it, the role lacks a privilege, which is a server
 * error (500). Unlike messages, names of functions are not translated.
 */
const policyRoutine = 'ExecWithCheckOptions'
const raiseRoutine = 'exec_stmt_raise'

/** From the first quotation mark of a message to the last, in the languages of PostgreSQL: `"…"`, `»…«`, `„…“`. */
const quoted = /["„‚「『\p{Pi}\p{Pf}].*["」』\p{Pi}\p{Pf}]/su

/** Messages of pg's errors without a code. */
const driverMessages =
  /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|connection error|not queryable|calling end on the pool|client was closed/i

export const postgres: Dialect = {
  ...postgresAggregates,
  textSearch: postgresTextSearch,
  equalsAny: (_, column, values) => inList(column, values),
  equalsAnyRow: (_, columns, rows) => inRows(columns, rows),
  // PostgreSQL rounds, and the cast rounds in the same way. The exact value is not compared too: with OR and LIMIT, the planner
  // would read the whole table.
  equalsStored: ({ valueColumn }, column, { driver }, bind) => {
    const type = driver.normalizeType(valueColumn)
    const { precision } = valueColumn
    if (typeof precision !== 'number' || precision >= (roundedTypes.get(type) ?? 0)) return undefined
    // For example `timestamp(0) with time zone`.
    return `${column} = CAST(${bind()} AS ${type.replace(/^\w+/, (name) => `${name}(${precision})`)})`
  },
  // A date column needs no truncation, but the expression of a computed column may return a timestamp.
  truncateSql: (stored, column, precision) => {
    const { type } = stored.valueColumn
    if (type === 'date') return isComputed(stored.column) ? `CAST(${column} AS date)` : column
    return `date_trunc('${precision === 'shown' ? 'second' : precision}', ${column})`
  },
  // Cast to text, because LIKE on `citext` ignores the case.
  likeSql: (_, column, pattern, ignoreCase, bind) =>
    `${column}::text ${ignoreCase ? 'ILIKE' : 'LIKE'} ${bind(pattern)}`,
  equalsText: (left, right) => `${left} = ${right}`,
  toComparedValue: (_, prepared) => prepared,
  toStoredValue: (_, prepared) => prepared,
  assignmentSql: moneySql,
  comparisonSql: (_, column) => column,
  sortSql: (_, column) => column,
  // PostgreSQL infers the type of a parameter from the column. A computed column may have another type than the entity
  // declares, so its placeholder has no cast.
  operandSql: ({ column }, placeholder) => (isComputed(column) ? placeholder : moneySql(column, placeholder)),
  greatestFormSql: (_, operand) => operand,
  // pg omits the seconds of a UTC offset. Local times before the introduction of standard time zones have such offsets.
  toDriverParameter: (value) => {
    if (Array.isArray(value)) return value.map(postgres.toDriverParameter)
    return value instanceof Date ? localText(value) : value
  },
  toQueryParameter: (value) => postgres.toDriverParameter(value),
  selectSql: (stored, column) => {
    const lossless = losslessSql(stored, column)
    return parserOidOf(stored) === undefined ? lossless : `${lossless}::text`
  },
  // For text and binary values, octet_length does not decompress the value. A computed text may be a value of another type, such as
  // an enumeration. The result is cast to float8, because the sum of several may exceed the type integer.
  sizeSql: ({ column: metadata, valueColumn: { type, isArray } }, column) => {
    const hasOctets = octetLengthTypes.has(String(type)) && !isArray && (type === 'bytea' || !isComputed(metadata))
    return `octet_length(${hasOctets ? column : `${column}::text`})::float8`
  },
  driverValueReader: (stored, dataSource) => {
    if (isHstoreObject(stored)) return readHstore
    if (isBigIntColumn(stored)) return buildBigIntReader(dataSource)
    const parsed = parserOidOf(stored)
    if (parsed !== undefined) return buildParser(parsed, dataSource)
    return isInstantColumn(stored) ? buildDateTimeReader(stored, dataSource).read : undefined
  },
  jsonTextReader: (stored, dataSource) =>
    isInstantColumn(stored) ? buildDateTimeReader(stored, dataSource).toJsonText : undefined,
  // The text form of a value in PostgreSQL is exact. A parameter is parsed as the type of the column, so that an
  // invalid text in a cursor raises an error.
  cursorSql: (stored, column) => {
    const isMoney = stored.valueColumn.type === 'money' && !isComputed(stored.column)
    const exact = isMoney ? `${column}::numeric::text` : `${column}::text`
    return {
      // One more character than a cursor may have shows that the text is too long.
      read: stored.valueType.name === 'text' ? `left(${exact}, ${maxCursorTextLength + 1})` : exact,
      sorted: column,
      compared: column,
      operand: (placeholder) => (isMoney ? numericMoney(placeholder) : placeholder),
      accepts: (value) => typeof value === 'string',
    }
  },
  areNullsLeast: false,
  supportsNullsOrder: true,
  // Both forms are the same semi-join, except below OR and NOT: there PostgreSQL runs the subquery of IN again for each
  // row, without an index, if its result may exceed work_mem.
  correlatesSubqueries: true,
  runsSubqueryOnce: false,
  mergesSubqueries: 'chained',
  listsPerParent: 'lateral',
  maxUnlimitedManyToMany: undefined,
  checkedWriteIsolation: undefined,
  writesBySubquery: true,
  updateLock: 'for_no_key_update',
  locksJoins: false,
  deferredCheckSql: 'SET CONSTRAINTS ALL IMMEDIATE',
  comparesTextLoosely: false,
  failsTransactions: true,
  sharesConnection: false,
  lockTable: (table) => `LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`,
  concatenate: (first, second) => `${first} || ${second}`,
  hasLooseCollation: () => false,
  indexesReferences: false,
  needsDefaultExpressions: false,
  hasOnUpdate: false,
  computesBeforeLimit: 'expressions',
  maxColumns: 1664,
  supportsReturning: () => true,
  settingsWarnings: async ({ options }, runSql) => {
    const { query_timeout } = Object('extra' in options && options.extra) as { readonly query_timeout?: unknown }
    const [setting] = await runSql('SHOW statement_timeout')
    const [collation] = await runSql(collationQuery)
    return [
      ...(query_timeout
        ? ['query_timeout gives up on writes that PostgreSQL may still commit: set statement_timeout instead']
        : []),
      ...(setting?.['statement_timeout'] === '0'
        ? [
            'no statement_timeout is set: statements of the application may hold their connections forever; set it in "extra" of the data source, or for the role',
          ]
        : []),
      ...(collation?.['folds'] === false
        ? ["the database's collation is C: ilike ignores the case of ASCII letters only"]
        : []),
      ...(await defaultsWarnings(runSql)),
    ]
  },
  prepareConnections: (driver, timeLimit) => preparePools(driver as PostgresDriver, timeLimit),
  unindexedSql: (column) => column,
  likelySql: (predicate) => predicate,
  notTrueSql: (predicate) => `(${predicate}) IS NOT TRUE`,
  timeLimitSql: () => undefined,
  cancel: (_, connection) => cancelStatement(connection as PoolClient),
  openCursor: openPostgresCursor,
  limitsCursorBytes: false,
  prepareRunner: () => undefined,
  settings: {
    isSupported: supportsSettings,
    attach: attachSettings,
    begin: (connection, settings) => beginWithSettings(connection as PoolClient, settings),
  },
  limitTransaction: (connection) => limitTransaction(connection as PoolClient),
  discard: (connection) => void (connection as PoolClient).end().catch(() => undefined),
  // Data exceptions (class 22) quote the value.
  withoutValues: ({ code = '', message }) => (code.startsWith('22') ? message.replace(quoted, '"…"') : message),
  // `retry`: deadlock (40P01), serialization failure (40001), outdated prepared statement. `unavailable`: connection
  // exceptions (08), insufficient resources (53), shutdown (57P0x), lock not available (55P03), idle or transaction
  // timeout (25P03, 25P04), read-only server (25006), errors of pg without a code.
  transientErrorOf: (error) => {
    const { code = '', message } = error
    if (code === '40P01' || code === '40001' || isPreparedStatementError(error)) return 'retry'
    if (code === '57014') return 'timeout'
    const isUnavailable = /^(08...|53...|57P0.|55P03|25P0[34]|25006)$/.test(code)
    return isUnavailable || (code === '' && driverMessages.test(message)) ? 'unavailable' : undefined
  },
  violationOf: (error, metadata) => {
    // Some errors of prepared statements have the same code as values that PostgreSQL does not support.
    if (isPreparedStatementError(error)) return undefined
    const { code = '', column, constraint, message, detail = '', position, routine } = error
    if (code === '23503' || code === '23001') return { kind: 'reference', columns: keyColumns(detail) }
    if (code === '23505' || code === '23P01') {
      const named = uniqueColumns(metadata, constraint)
      return { kind: 'unique', columns: named.length > 0 ? named : keyColumns(detail) }
    }
    if (code === '23502') return { kind: 'value', columns: column === undefined ? [] : [column] }
    if (code === '23514') return { kind: 'value', columns: checkedColumns(metadata, constraint) }
    if (code === '0A000' && likeRoutines.test(routine ?? ''))
      return { kind: 'value', columns: [], isUnsupportedOperator: true }
    // A syntax error without a position in the statement is one in a value, such as an `ltree` or `tsquery`.
    const isSyntax = code === '42601' && position === undefined
    // Values that are too large for an index, too deep, too long, or use a feature that PostgreSQL does not support.
    const exceedsLimit =
      code.startsWith('54') || code === '42622' || code === '0A000' || routine === tsqueryStackRoutine
    if (code.startsWith('22') || isSyntax || exceedsLimit)
      return { kind: 'value', columns: [], isAbout: matcherOf(message, detail) }
    if (code === '42501' && routine === policyRoutine) return { kind: 'rowPolicy', columns: [] }
    const isRefusal = refusalStates.test(code) || (code === '42501' && routine === raiseRoutine)
    return isRefusal ? { kind: 'value', columns: [] } : undefined
  },
}

/**
 * Expression for a value of a column: the placeholder, for `money` with a cast from a number, because the decimal
 * separator of its text form depends on `lc_monetary`. The result of a transformer is bound without a cast.
 */
function moneySql(column: ColumnMetadata, placeholder: string): string {
  const { type, isArray, transformer } = referencedValueColumn(column)
  if (type !== 'money' || transformer !== undefined) return placeholder
  return isArray ? `CAST(${placeholder} AS numeric[])::money[]` : numericMoney(placeholder)
}

const numericMoney = (placeholder: string): string => `CAST(${placeholder} AS numeric)::money`

/** Expression that reads a column without loss of precision. */
function losslessSql(stored: ReadColumn, column: string): string {
  const { type, isArray, transformer } = stored.valueColumn
  if (isBigIntColumn(stored)) return `${column}::text`
  if (transformer !== undefined) return column
  if (type === 'money') return isArray ? `${column}::numeric[]::text[]` : `${column}::numeric::text`
  if (isArray) return typeof type === 'function' || arrayTypes.has(type) ? column : `${column}::text[]`
  return readAsText.has(String(type)) || isInstantColumn(stored) ? `${column}::text` : column
}

/**
 * Returns a function that tells whether a data exception may concern a value. The error does not name the column, but
 * contains the value, or the length or power of ten that was exceeded.
 */
function matcherOf(message: string, detail: string): (value: unknown) => boolean {
  const [, length] = /^value too long for type .*\((\d+)\)$/.exec(message) ?? []
  const [, power] = /less than 10\^(\d+)/.exec(detail) ?? []
  const [, text] = /"(.*)"/s.exec(message) ?? []
  return (value) => {
    if (length !== undefined) return typeof value === 'string' && [...value].length > Number(length)
    if (power !== undefined) return Math.abs(Number(value)) >= 10 ** Number(power)
    return String(value) === text
  }
}

/**
 * Local time with its UTC offset, as text. A column of type `timestamp` ignores the offset and stores the local time; a
 * `timestamptz` column uses both.
 */
function localText(instant: Date): string {
  const behindUtc = millisecondsBehindUtc(instant)
  const local = new Date(instant.getTime() - behindUtc)
  const offset = behindUtc === 0 ? '00:00:00' : new Date(Math.abs(behindUtc)).toISOString().slice(11, 19)
  const text = local.toISOString().replace(/^\+0*/, '').replace('Z', '')
  const withOffset = `${text}${behindUtc > 0 ? '-' : '+'}${offset}`
  // At the beginning of the year 1 in UTC, local time in the west is still in the year 0, which is 1 BC in PostgreSQL.
  return text.startsWith('0000') ? `${withOffset.replace('0000', '0001')} BC` : withOffset
}

/** Milliseconds that local time is behind UTC. */
function millisecondsBehindUtc(instant: Date): number {
  const local = new Date(0)
  local.setUTCFullYear(instant.getFullYear(), instant.getMonth(), instant.getDate())
  local.setUTCHours(instant.getHours(), instant.getMinutes(), instant.getSeconds(), instant.getMilliseconds())
  return instant.getTime() - local.getTime()
}

/** Column names in the detail of an error, such as `Key (username)=(ann) already exists.`, in any language. */
function keyColumns(detail: string): readonly string[] {
  const [, list = ''] = /\(([^()]+)\)=/.exec(detail) ?? []
  return list === '' ? [] : list.split(', ').map((name) => name.replace(/^"|"$/g, ''))
}
