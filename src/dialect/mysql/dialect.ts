import type { EntityMetadata } from 'typeorm'
import { isComputed } from '../../schema/stored-column'
import { singleType } from '../../value/number'
import { checkedColumns, uniqueColumns } from '../constraint'
import type { ConstraintViolation, Dialect } from '../dialect'
import { inList, inRows } from '../in-list'
import { cancelStatement, prepareRunner, type RunnerConnection } from './connection'
import { mysqlCursor, mysqlOperand } from './cursor'
import { mysqlParameter } from './parameter'

/** Text as it is, whatever the collation of its column takes to be the same. */
const exact = (column: string): string => `CAST(CONVERT(${column} USING utf8mb4) AS BINARY)`

/**
 * What the driver would make something else of: JSON, whose texts TypeORM would parse once more, and dates, which it shifts when
 * they are `0000-00-00` or before the year 100.
 */
const readAsText: ReadonlySet<string> = new Set(['json', 'date'])

/** Deadlock, record changed since the snapshot, table changed since the statement was prepared. */
const again: ReadonlySet<number> = new Set([1213, 1020, 1615])
/**
 * No connection free, server shutting down, connection killed or lost; statement interrupted, lock not had; disk
 * or memory full, too many prepared statements, a server that only reads.
 */
const unavailable: ReadonlySet<number> = new Set([
  ...[1040, 1203, 1226, 1053, 1927, 2006, 2013, 4031],
  ...[1317, 1205],
  ...[1021, 1037, 1041, 1114, 1461, 1290, 1836],
])
const driversOwn =
  /connection is (in closed state|closed)|pool is closed|queue limit reached|no connections available|enqueue/i

/** MySQL, MariaDB. */
export const mysql: Dialect = {
  // By the column first, which can use an index; then exactly.
  equalsAny: (column, kind, values) => {
    const equal = inList(column, values)
    return kind.name === 'text' ? `(${equal} AND ${inList(exact(column), values)})` : equal
  },
  equalsAnyRow: (columns, kinds, rows) => {
    const isText = kinds.map(({ name }) => name === 'text')
    const equal = inRows(columns, rows)
    if (!isText.includes(true)) return equal
    const exactColumns = columns.map((column, index) => (isText[index] ? exact(column) : column))
    return `(${equal} AND ${inRows(exactColumns, rows)})`
  },
  // Casts may round: the digits are cut off before.
  truncated: (stored, column, digits) => {
    const { type } = stored.valueColumn
    if (type === 'date') return isComputed(stored.column) ? `CAST(${column} AS DATE)` : column
    if (type === 'time') return `CAST(LEFT(${column}, 8) AS TIME)`
    return digits === 'shown' ? `CAST(LEFT(${column}, 19) AS DATETIME)` : `CAST(LEFT(${column}, 23) AS DATETIME(3))`
  },
  matches: (column, pattern, ignoreCase, bind) => {
    const text = `CONVERT(${column} USING utf8mb4)`
    // With an escape of our own, since NO_BACKSLASH_ESCAPES takes away that of MySQL.
    const escaped = bind(pattern.replace(/\\(.)|(\|)/gsu, (_, character: string | undefined) => `|${character ?? '|'}`))
    const [left, right] = ignoreCase ? [`LOWER(${text})`, `LOWER(${escaped})`] : [text, escaped]
    return `${left} COLLATE utf8mb4_bin LIKE ${right} ESCAPE '|'`
  },
  equalsText: (one, other) => `${exact(one)} = ${exact(other)}`,
  compared: (_, column) => column,
  operand: mysqlOperand,
  // Bits are compared as a number, and written as bytes: prepared statements have no parameter that is both.
  bound: (_, stored) => stored,
  written: ({ type }, stored) => (type === 'bit' && typeof stored === 'bigint' ? toBytes(stored) : stored),
  parameter: mysqlParameter,
  read: ({ valueType, valueColumn }, column) => {
    // Shown with six digits otherwise, which are not those that are stored.
    if (valueType === singleType) return `${column} + 0e0`
    return readAsText.has(String(valueColumn.type)) ? `CAST(${column} AS CHAR)` : column
  },
  bytes: (_, column) => `LENGTH(${column})`,
  readBack: undefined,
  shown: undefined,
  cursorSql: mysqlCursor,
  areNullsLeast: true,
  knowsNullsOrder: false,
  sharesConnection: false,
  // Its LOCK TABLES would end the transaction. This locks all rows, and returns one.
  lockTable: (table) => `SELECT COUNT(*) FROM ${table} FOR UPDATE`,
  concatenate: (first, second) => `CONCAT(${first}, ${second})`,
  isTextLoose: true,
  indexesReferences: true,
  spellsDefaults: false,
  hasOnUpdate: true,
  returning: ({ driver }, statement) => driver.isReturningSqlSupported(statement),
  dangersOf: async (options) => {
    const { enableQueryTimeout, replication } = options as {
      readonly enableQueryTimeout?: boolean
      readonly replication?: { readonly restoreNodeTimeout?: number }
    }
    return [
      ...(enableQueryTimeout
        ? ['enableQueryTimeout gives up writes that the server may still commit: set max_statement_time there instead']
        : []),
      ...(replication !== undefined && !replication.restoreNodeTimeout
        ? ['replication without restoreNodeTimeout gives up for ever a server that is away once, the master too']
        : []),
    ]
  },
  // TypeORM listens for errors on every connection, and our query runners bind values and limit time.
  prepareConnections: () => undefined,
  whileInTime: () => undefined,
  cancel: cancelStatement,
  prepareRunner,
  discard: (connection) => (connection as RunnerConnection).destroy(),
  // Those of unknown tables and columns hold names alone.
  withoutValues: ({ errno, message }) => (errno === 1146 || errno === 1054 ? message : message.replace(/'.*'/s, "'…'")),
  transientErrorOf: ({ errno = 0, code = '', message }) => {
    if (again.has(errno)) return 'again'
    // max_statement_time of MariaDB, max_execution_time of MySQL.
    if (errno === 1969 || errno === 3024) return 'timeout'
    const isUnavailable = unavailable.has(errno) || code.startsWith('PROTOCOL_') || driversOwn.test(message)
    return isUnavailable ? 'unavailable' : undefined
  },
  violationOf: ({ errno = 0, message }, metadata) => kinds.get(errno)?.(message, metadata),
}

function toBytes(bits: bigint): Buffer {
  const digits = bits.toString(16)
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
}

const reference = (message: string): ConstraintViolation => {
  const [, list = ''] = /FOREIGN KEY \(([^)]*)\)/.exec(message) ?? []
  return { kind: 'reference', columns: list === '' ? [] : list.split(', ').map((name) => name.replaceAll('`', '')) }
}
const unique = (message: string, metadata: EntityMetadata): ConstraintViolation => {
  const [, name = ''] = /for key '(?:.*\.)?([^']+)'/.exec(message) ?? []
  const primary = metadata.primaryColumns.map((column) => column.databaseName)
  return { kind: 'unique', columns: name === 'PRIMARY' ? primary : uniqueColumns(metadata, name) }
}
const value = (message: string): ConstraintViolation => {
  const [, column] = /(?:column|field) ['`](?:[^']*[.`])?([^'`.]+)['`]/i.exec(message) ?? []
  return { kind: 'value', columns: column === undefined ? [] : [column] }
}
const check = (message: string, metadata: EntityMetadata): ConstraintViolation => {
  const [, name] = /constraint [`'](?:[^`']*\.)?([^`']+)[`']/i.exec(message) ?? []
  return { kind: 'value', columns: checkedColumns(metadata, name) }
}

const depth = (): ConstraintViolation => ({ kind: 'depth', columns: [] })
/** MariaDB's message for any error of InnoDB: 193 is a cascade of more than 15 levels, for which MySQL has a number. */
const ofInnodb = (message: string): ConstraintViolation | undefined =>
  message.startsWith('Got error 193 ') ? depth() : undefined

/** By the numbers of MySQL's and MariaDB's error messages. */
const kinds = new Map<number, (message: string, metadata: EntityMetadata) => ConstraintViolation | undefined>([
  [1296, ofInnodb],
  [3008, depth],
  [1062, unique],
  [1586, unique],
  [1216, reference],
  [1217, reference],
  [1451, reference],
  [1452, reference],
  [1048, value],
  [1364, value],
  [1264, value],
  [1265, value],
  [1292, value],
  [1366, value],
  [1367, value],
  [1406, value],
  [1411, value],
  [1690, value],
  [3140, value],
  [3819, check],
  [4025, check],
  // A text that the character set of the column has no letters for.
  [1267, value],
  [1270, value],
  [1271, value],
  // SIGNAL, as a trigger raises it.
  [1644, () => ({ kind: 'value', columns: [] })],
])
