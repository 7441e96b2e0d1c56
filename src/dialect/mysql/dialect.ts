import { isDate } from 'node:util/types'
import type { EntityMetadata } from 'typeorm'
import { isComputed } from '../../schema/metadata'
import { bytesToBigInt } from '../../value/bits'
import { shortestSingle } from '../../value/number'
import { checkedColumns, uniqueColumns } from '../constraint'
import type { ConstraintViolation, Dialect } from '../dialect'
import { exactEquality, inRows } from '../in-list'
import { objectParameter, toBuffer } from '../object-parameter'
import { limitTransaction } from '../silence'
import { mysqlAggregates } from './aggregate-sql'
import { cancelStatement, prepareRunner, type RunnerConnection } from './connection'
import { mysqlCursor, mysqlOperand, mysqlSort } from './cursor'
import { openMysqlCursor } from './cursor-rows'
import { buildDateStringReader } from './date-strings'
import { engineWarnings } from './engines'
import { unpadded } from './padding'
import { limitRowParsers } from './row-parsers'
import { mysqlTextSearch } from './text-search'

/** True for all texts: most collations treat different texts as equal, and the server may choose the collation. */
const hasLooseCollation: Dialect['hasLooseCollation'] = ({ valueType }) => valueType.name === 'text'

/** Expression of a text column for exact comparisons, independent of its collation. */
const exact = (column: string): string => `CAST(CONVERT(${column} USING utf8mb4) AS BINARY)`

/** The greatest number in single precision. */
const maxSingle = 2 ** 128 - 2 ** 104

/**
 * Types that are read as text because the driver changes their values: it parses JSON, so that TypeORM would parse a
 * JSON string a second time, and it shifts dates that are `0000-00-00` or before the year 100.
 */
const readAsText: ReadonlySet<string> = new Set(['json', 'date'])

/** Types of date-time columns: names, and `Date` for a column that has the type of its property. */
const dateTimeTypes: ReadonlySet<unknown> = new Set(['datetime', 'timestamp', Date])

/**
 * Error numbers of conflicts: deadlock, record changed since the snapshot was taken, table changed since the statement
 * was prepared.
 */
const retryableErrors: ReadonlySet<number> = new Set([1213, 1020, 1615])
/**
 * Error numbers, by line: too many connections, server shutting down, connection killed or lost; statement interrupted,
 * lock wait timeout; disk or memory full, too many prepared statements, server or transaction is read-only.
 */
const unavailableErrors: ReadonlySet<number> = new Set([
  ...[1040, 1203, 1226, 1053, 1927, 2006, 2013, 4031],
  ...[1317, 1205],
  ...[1021, 1037, 1041, 1114, 1461, 1290, 1836, 1792],
])
/** Messages of mysql2's errors without an error number. */
const driverMessages =
  /connection is (in closed state|closed)|pool is closed|queue limit reached|no connections available|enqueue/i

/** The dialect of MySQL and MariaDB. */
export const mysql: Dialect = {
  ...mysqlAggregates,
  textSearch: mysqlTextSearch,
  ...exactEquality({ hasLooseCollation, exact: (stored, column) => exact(unpadded(stored, column)), inRows }),
  // The server truncates or rounds, as `sql_mode` says, and the cast does the same. If another program has created the table, the
  // column may store more digits than the entity declares (none by default). Its text is longer then, and only the exact value
  // is compared.
  equalsStored: ({ valueColumn: { type, precision } }, column, _, bind, exact) => {
    const digits = precision ?? 0
    if (!dateTimeTypes.has(type) || digits >= 3) return undefined
    const length = digits === 0 ? 19 : 20 + digits
    return `(${exact()} OR ${column} = CAST(${bind()} AS DATETIME(${digits})) AND LENGTH(${column}) = ${length})`
  },
  // Truncates the text before the cast, because a cast may round.
  truncateSql: (stored, column, precision) => {
    const { type } = stored.valueColumn
    if (type === 'date') return isComputed(stored.column) ? `CAST(${column} AS DATE)` : column
    if (type === 'time') return `CAST(LEFT(${column}, 8) AS TIME)`
    return precision === 'shown' ? `CAST(LEFT(${column}, 19) AS DATETIME)` : `CAST(LEFT(${column}, 23) AS DATETIME(3))`
  },
  likeSql: (stored, column, pattern, ignoreCase, bind) => {
    const text = `CONVERT(${unpadded(stored, column)} USING utf8mb4)`
    // The escape character is `|`, because the SQL mode NO_BACKSLASH_ESCAPES disables the backslash.
    const escaped = bind(pattern.replace(/\\(.)|(\|)/gsu, (_, character: string | undefined) => `|${character ?? '|'}`))
    const [left, right] = ignoreCase ? [`LOWER(${text})`, `LOWER(${escaped})`] : [text, escaped]
    return `${left} COLLATE utf8mb4_bin LIKE ${right} ESCAPE '|'`
  },
  equalsText: (left, right) => `${exact(left)} = ${exact(right)}`,
  comparisonSql: (_, column) => column,
  sortSql: mysqlSort,
  operandSql: mysqlOperand,
  greatestFormSql: (_, operand) => operand,
  // Bits are compared as a number but written as bytes: a parameter of a prepared statement cannot be both. A column in
  // single precision is compared as a double. An integer for a computed column is bound as text: the text that the server
  // writes for a number may have an exponent, which `mysqlOperand` cannot cast. With a transformer, it does not cast.
  toComparedValue: (column, prepared) => {
    const { type, transformer } = column
    const isCast = isComputed(column) && type === 'bigint' && transformer === undefined
    if (isCast && typeof prepared === 'number') return String(prepared)
    if (type === 'bit' && ArrayBuffer.isView(prepared)) return bytesToBigInt(toBuffer(prepared))
    return type === 'float' && typeof prepared === 'number' && Math.abs(prepared) <= maxSingle
      ? Math.fround(prepared)
      : prepared
  },
  toStoredValue: ({ type }, prepared) =>
    type === 'bit' && typeof prepared === 'bigint' ? bigIntToBytes(prepared) : prepared,
  assignmentSql: (_, placeholder) => placeholder,
  toDriverParameter: (value) => {
    if (typeof value === 'bigint') return String(value)
    if (typeof value !== 'object' || value === null || isDate(value)) return value
    return objectParameter(value)
  },
  // mysql2's `query` escapes texts with backslashes, which is wrong if `sql_mode` contains NO_BACKSLASH_ESCAPES. It writes
  // the result of `toSqlString` as it is. Hexadecimal digits mean the same in every mode.
  toQueryParameter: (value) => {
    const parameter = mysql.toDriverParameter(value)
    if (typeof parameter !== 'string') return parameter
    return { toSqlString: () => `_utf8mb4 X'${Buffer.from(parameter).toString('hex')}'` }
  },
  selectSql: (stored, column) => {
    const { type } = stored.valueColumn
    // As a double: MySQL rounds FLOAT to six digits in results.
    if (type === 'float') return `${column} + 0e0`
    return readAsText.has(String(type)) ? `CAST(${column} AS CHAR)` : unpadded(stored, column)
  },
  sizeSql: (_, column) => `LENGTH(${column})`,
  driverValueReader: ({ valueColumn: { type, transformer } }, dataSource) => {
    if (transformer === undefined) return dateTimeTypes.has(type) ? buildDateStringReader(dataSource) : undefined
    // A transformer gets the digits of single precision, as the value type shows them without a transformer.
    return type === 'float' ? (value) => (typeof value === 'number' ? shortestSingle(value) : value) : undefined
  },
  jsonTextReader: undefined,
  cursorSql: mysqlCursor,
  areNullsLeast: true,
  supportsNullsOrder: false,
  correlatesSubqueries: false,
  runsSubqueryOnce: false,
  mergesSubqueries: 'all',
  // MariaDB supports neither LATERAL nor LIMIT in subqueries of IN.
  listsPerParent: 'window',
  maxUnlimitedManyToMany: undefined,
  checkedWriteIsolation: 'READ COMMITTED',
  writesBySubquery: false,
  updateLock: 'pessimistic_write',
  locksJoins: true,
  deferredCheckSql: undefined,
  comparesTextLoosely: true,
  failsTransactions: false,
  sharesConnection: false,
  // LOCK TABLES would end the transaction. This statement locks all rows and returns a single one.
  lockTable: (table) => `SELECT COUNT(*) FROM ${table} FOR UPDATE`,
  concatenate: (first, second) => `CONCAT(${first}, ${second})`,
  hasLooseCollation,
  indexesReferences: true,
  needsDefaultExpressions: false,
  hasOnUpdate: true,
  // Subqueries become joins.
  computesBeforeLimit: 'joined',
  maxColumns: 4096,
  supportsReturning: ({ driver }, statement) => driver.isReturningSqlSupported(statement),
  settingsWarnings: async (dataSource, runSql) => {
    const { enableQueryTimeout, replication } = dataSource.options as {
      readonly enableQueryTimeout?: boolean
      readonly replication?: { readonly restoreNodeTimeout?: number }
    }
    return [
      ...(enableQueryTimeout
        ? [
            'enableQueryTimeout abandons writes that the server may still commit: set max_statement_time on the server instead',
          ]
        : []),
      ...(replication !== undefined && !replication.restoreNodeTimeout
        ? [
            'replication without restoreNodeTimeout never uses a server again that was unreachable once, not even the master',
          ]
        : []),
      ...(await engineWarnings(dataSource, runSql)),
    ]
  },
  // TypeORM handles errors on all connections, and `prepareRunner` binds values and sets the time limit.
  prepareConnections: limitRowParsers,
  unindexedSql: (column) => column,
  likelySql: (predicate) => predicate,
  notTrueSql: (predicate) => `(${predicate}) IS NOT TRUE`,
  timeLimitSql: () => undefined,
  cancel: cancelStatement,
  openCursor: openMysqlCursor,
  limitsCursorBytes: true,
  prepareRunner,
  settings: undefined,
  limitTransaction: (connection) => limitTransaction((connection as RunnerConnection).pooled),
  discard: (connection) => (connection as RunnerConnection).destroy(),
  // Errors of unknown tables (1146) and columns (1054) quote only names.
  withoutValues: ({ errno, message }) => (errno === 1146 || errno === 1054 ? message : message.replace(/'.*'/s, "'…'")),
  transientErrorOf: ({ errno = 0, code = '', message }) => {
    if (retryableErrors.has(errno)) return 'retry'
    // Exceeded max_statement_time of MariaDB or max_execution_time of MySQL. InnoDB reports 188 if this happens in a text search.
    if (errno === 1969 || errno === 3024 || errno === 188) return 'timeout'
    const isUnavailable = unavailableErrors.has(errno) || code.startsWith('PROTOCOL_') || driverMessages.test(message)
    return isUnavailable ? 'unavailable' : undefined
  },
  violationOf: ({ errno = 0, sqlState = '', message }, metadata) => {
    const parse = violationParsers.get(errno) ?? (valueStates.test(sqlState) ? valueViolation : undefined)
    return parse?.(message, metadata)
  },
}

function bigIntToBytes(bits: bigint): Buffer {
  const digits = bits.toString(16)
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
}

const referenceViolation = (message: string): ConstraintViolation => {
  const [, list = ''] = /FOREIGN KEY \(([^)]*)\)/.exec(message) ?? []
  return { kind: 'reference', columns: list === '' ? [] : list.split(', ').map((name) => name.replaceAll('`', '')) }
}
// A message may contain a value, which may contain any words. The name of the key or column is after it.
const uniqueViolation = (message: string, metadata: EntityMetadata): ConstraintViolation => {
  const [, name = ''] = /for key '(?:.*\.)?([^']+)'$/.exec(message) ?? []
  const primary = metadata.primaryColumns.map((column) => column.databaseName)
  return { kind: 'unique', columns: name === 'PRIMARY' ? primary : uniqueColumns(metadata, name) }
}
const namedColumn =
  /(?:^(?:Column|Field)|for column) ['`](?:[^']*[.`])?([^'`.]+)['`](?: cannot be null| doesn't have a default value| at row \d+|\.)$/
const valueViolation = (message: string): ConstraintViolation => {
  const [, column] = namedColumn.exec(message) ?? []
  return { kind: 'value', columns: column === undefined ? [] : [column] }
}
const checkViolation = (message: string, metadata: EntityMetadata): ConstraintViolation => {
  const [, name] = /constraint [`'](?:[^`']*\.)?([^`']+)[`']/i.exec(message) ?? []
  return { kind: 'value', columns: checkedColumns(metadata, name) }
}
const unnamedViolation = (): ConstraintViolation => ({ kind: 'value', columns: [] })

const depthViolation = (): ConstraintViolation => ({ kind: 'depth', columns: [] })
/**
 * Parses the error number 1296 of MariaDB, which stands for any error of InnoDB. The message may be translated, but
 * contains InnoDB's own number: 193 is a cascade of more than 15 levels. MySQL reports this cascade as 3008.
 */
const innodbViolation = (message: string): ConstraintViolation | undefined =>
  /\b193\b/.test(message) ? depthViolation() : undefined

/** Functions that find the constraint in an error message, by the error number of MySQL and MariaDB. */
const violationParsers = new Map<
  number,
  (message: string, metadata: EntityMetadata) => ConstraintViolation | undefined
>([
  [1296, innodbViolation],
  [3008, depthViolation],
  [1062, uniqueViolation],
  [1586, uniqueViolation],
  [1216, referenceViolation],
  [1217, referenceViolation],
  [1451, referenceViolation],
  [1452, referenceViolation],
  [1048, valueViolation],
  [1364, valueViolation],
  [1264, valueViolation],
  [1265, valueViolation],
  [1292, valueViolation],
  [1366, valueViolation],
  [1367, valueViolation],
  [1406, valueViolation],
  [1411, valueViolation],
  [1690, valueViolation],
  // Values that are too long together: for a row, or for the undo log, which has the old values of indexed columns.
  [1118, unnamedViolation],
  [1713, unnamedViolation],
  [3140, valueViolation],
  [3819, checkViolation],
  [4025, checkViolation],
  // A text that the character set of the column cannot represent.
  [1267, valueViolation],
  [1270, valueViolation],
  [1271, valueViolation],
  [1977, valueViolation],
  // SIGNAL in a trigger.
  [1643, unnamedViolation],
  [1644, unnamedViolation],
])
/**
 * SQLSTATEs of values: data exceptions (class 22), such as a division by zero in a generated column, and those of
 * SIGNAL with an error number of its own: class 45 and the classes that the SQL standard leaves to implementations. Of
 * these the servers use 70 (statement interrupted) and XA.
 */
const valueStates = /^(22|45|(?!70|XA)[5-9I-Z])/
