import type { EntityMetadata } from 'typeorm'
import { singleKind } from '../value/number'
import { checkedColumns, uniqueColumns } from './constraint'
import type { Dialect, Failure } from './dialect'
import { inList } from './in-list'
import { mysqlPlace } from './mysql-place'

/** Text as it is, whatever the collation of its column takes to be the same. */
const exact = (column: string): string => `CAST(CONVERT(${column} USING utf8mb4) AS BINARY)`

/**
 * What the driver would make something else of: JSON, whose texts TypeORM would parse once more, and dates, which it shifts when
 * they are `0000-00-00` or before the year 100.
 */
const readAsText: ReadonlySet<string> = new Set(['json', 'date'])

/** A connection of mysql2. */
interface PoolConnection {
  readonly destroy: () => void
}

/** Deadlock, record changed since the snapshot. */
const again: ReadonlySet<number> = new Set([1213, 1020])
/**
 * No connection free, server shutting down, connection killed or lost; statement interrupted or out of time, lock not had; disk
 * or memory full, a server that only reads.
 */
const unavailable: ReadonlySet<number> = new Set([
  ...[1040, 1203, 1226, 1053, 1927, 2006, 2013, 4031],
  ...[1317, 1969, 3024, 1205],
  ...[1021, 1037, 1041, 1114, 1290, 1836],
])
const driversOwn =
  /connection is (in closed state|closed)|pool is closed|queue limit reached|no connections available|enqueue/i

/** MySQL, MariaDB. */
export const mysql: Dialect = {
  // By the column first, which can use an index; then exactly.
  equalsAny: (column, kind, values) => {
    const equal = inList(column, values)
    return kind.operators.includes('like') ? `(${equal} AND ${inList(exact(column), values)})` : equal
  },
  matches: (column, pattern, ignoreCase, bind) => {
    const text = `CONVERT(${column} USING utf8mb4)`
    // With an escape of our own, since NO_BACKSLASH_ESCAPES takes away that of MySQL.
    const escaped = bind(pattern.replace(/\\(.)|(\|)/gsu, (_, character: string | undefined) => `|${character ?? '|'}`))
    const [left, right] = ignoreCase ? [`LOWER(${text})`, `LOWER(${escaped})`] : [text, escaped]
    return `${left} COLLATE utf8mb4_bin LIKE ${right} ESCAPE '|'`
  },
  bound: (_, stored) => stored,
  parameter: (value) => value,
  read: ({ kind, valueColumn }, column) => {
    // Shown with six digits otherwise, which are not those that are stored.
    if (kind === singleKind) return `${column} + 0e0`
    return readAsText.has(String(valueColumn.type)) ? `CAST(${column} AS CHAR)` : column
  },
  readBack: undefined,
  shown: undefined,
  place: mysqlPlace,
  sayNulls: false,
  sharesConnection: false,
  // Its LOCK TABLES would end the transaction.
  lockTable: (table) => `SELECT 1 FROM ${table} FOR UPDATE`,
  isTextLoose: true,
  indexesReferences: true,
  spellsDefaults: false,
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
  // Its driver has its own listener on every connection.
  guardPool: () => undefined,
  discard: (connection) => (connection as PoolConnection).destroy(),
  // Those of unknown tables and columns hold names alone.
  withoutValues: ({ errno, message }) => (errno === 1146 || errno === 1054 ? message : message.replace(/'.*'/s, "'…'")),
  troubleOf: ({ errno = 0, code = '', message }) => {
    if (again.has(errno)) return 'again'
    const isUnavailable = unavailable.has(errno) || code.startsWith('PROTOCOL_') || driversOwn.test(message)
    return isUnavailable ? 'unavailable' : undefined
  },
  failureOf: ({ errno = 0, message }, metadata) => kinds.get(errno)?.(message, metadata),
}

const reference = (message: string): Failure => {
  const [, list = ''] = /FOREIGN KEY \(([^)]*)\)/.exec(message) ?? []
  return { kind: 'reference', columns: list === '' ? [] : list.split(', ').map((name) => name.replaceAll('`', '')) }
}
const unique = (message: string, metadata: EntityMetadata): Failure => {
  const [, name = ''] = /for key '(?:.*\.)?([^']+)'/.exec(message) ?? []
  const primary = metadata.primaryColumns.map((column) => column.databaseName)
  return { kind: 'unique', columns: name === 'PRIMARY' ? primary : uniqueColumns(metadata, name) }
}
const value = (message: string): Failure => {
  const [, column] = /(?:column|field) ['`](?:[^']*[.`])?([^'`.]+)['`]/i.exec(message) ?? []
  return { kind: 'value', columns: column === undefined ? [] : [column] }
}
const check = (message: string, metadata: EntityMetadata): Failure => {
  const [, name] = /constraint [`'](?:[^`']*\.)?([^`']+)[`']/i.exec(message) ?? []
  return { kind: 'value', columns: checkedColumns(metadata, name) }
}

/** By the numbers of MySQL's and MariaDB's error messages. */
const kinds: ReadonlyMap<number, (message: string, metadata: EntityMetadata) => Failure> = new Map([
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
