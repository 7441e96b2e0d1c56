import { isDate } from 'node:util/types'
import type { Driver, QueryRunner } from 'typeorm'
import { hasText, toBuffer } from '../object-parameter'
import { newPreparedStatementCache, serverLimits } from '../prepared-statements'
import { destroyWhenSilent } from '../silence'
import { isServiceStatement, withComment } from '../statement-comment'

type Callback = (error: Error | null, rows?: unknown, fields?: unknown) => void

/** The SQL of a statement; with TypeORM's option `enableQueryTimeout` an object of the SQL and a time limit. */
type Payload = string | { readonly sql: string; readonly timeout?: number }

/** A pooled connection of mysql2. */
export interface MysqlConnection {
  /** Identifier of the connection in the server. */
  readonly threadId: number | null
  readonly config: unknown
  readonly stream: unknown
  /** The command that is running: `sql` of a statement, `query` of the preparation of one. */
  readonly _command?: { readonly sql?: string; readonly query?: string } | null
  readonly end: () => void
  readonly on: (event: 'error', listener: () => void) => void
  readonly destroy: () => void
  readonly query: (payload: Payload, values: unknown, done: Callback) => unknown
  readonly execute: (payload: Payload, values: readonly unknown[], done: Callback) => unknown
  /** Writes values into SQL as `query` does. An object with the member `toSqlString` is written as this returns. */
  readonly format: (sql: string, values: unknown) => string
  /** Closes a prepared statement in the server. */
  readonly unprepare: (sql: string) => unknown
}

/**
 * The members of a connection that TypeORM's query runner uses. TypeORM 0.3 passes callbacks, TypeORM 1 uses
 * `promise()`.
 */
export interface RunnerConnection extends Pick<MysqlConnection, 'query' | 'destroy'> {
  readonly pooled: MysqlConnection
  readonly promise: () => { readonly query: (payload: Payload, values: unknown) => Promise<[unknown, unknown]> }
}

const strictMode = 'STRICT_TRANS_TABLES'
/** Modes that are replaced by {@link strictMode}. */
const unsuitableModes = ['NO_AUTO_VALUE_ON_ZERO', 'EMPTY_STRING_IS_NULL']

/**
 * Settings of each connection:
 * - `autocommit`, `completion_type`: otherwise a statement outside of a transaction might never be committed. With
 *   `autocommit` off it begins a transaction, and with another `completion_type` the previous COMMIT has begun one.
 * - `sql_auto_is_null`: otherwise a generated key `IS NULL` after the INSERT that generated it.
 * - `sql_mode`: without `STRICT_TRANS_TABLES`, values that do not fit into a column are truncated, and characters that
 *   its character set lacks become `?`. With `NO_AUTO_VALUE_ON_ZERO`, MariaDB stores 0 for `DEFAULT` in a generated key.
 *   With `EMPTY_STRING_IS_NULL`, it stores null for an empty text, and compares with null. The modes are not replaced by
 *   an empty text, because it would be null too, and no mode would be set.
 * - `sql_select_limit`: a SELECT without a LIMIT, such as that of included lists, would return only the first rows.
 * - `foreign_key_checks`, `check_constraint_checks`: otherwise foreign keys and CHECK constraints are not checked. MySQL
 *   does not have the second one, and ignores its comment.
 * - `sql_safe_updates`: otherwise an UPDATE whose condition uses no key fails, such as that of the positions in a tree.
 * - `lc_messages`: the dialect reads the names of columns and constraints in English messages. The locale is not in quotes,
 *   because the server does not find the name of a locale in UTF-16 or UTF-32, which `character_set_connection` may be.
 * - `max_sort_length`: sorting uses only so many bytes of a text's collation weights, comparison all of them, so that
 *   keyset paging would skip texts that are equal up to there. 255 characters, the longest text of a cursor, have up to
 *   8 weights of 2 bytes each. A sort needs memory for at least 15 keys of this length: MySQL's `sort_buffer_size` of
 *   256 KiB is enough for four long texts.
 * - Character sets: with another one than `utf8mb4`, set by the option `charset`, `init_connect` or the server, characters
 *   that it lacks become `?`, and the bytes of other characters are not those of the stored text. A scope such as
 *   `{ state__ne: 'gelöscht' }` would then show all records. mysql2 learns from the server which one to use.
 *   Parameters have the collation of `character_set_client`, and literals that of `character_set_connection`. Set together,
 *   they have the same one: functions of a parameter and a literal fail if the collations differ.
 */
const settings = [
  'autocommit = 1',
  'completion_type = NO_CHAIN',
  'sql_auto_is_null = 0',
  `sql_mode = CONCAT(${unsuitableModes.reduce((modes, mode) => `REPLACE(${modes}, '${mode}', '${strictMode}')`, '@@sql_mode')}, ',${strictMode}')`,
  'sql_select_limit = 18446744073709551615',
  'foreign_key_checks = 1 /*M! , check_constraint_checks = 1 */',
  'sql_safe_updates = 0',
  'lc_messages = en_US',
  'max_sort_length = GREATEST(@@max_sort_length, 4096)',
  'character_set_client = utf8mb4',
  'character_set_results = utf8mb4',
  'character_set_connection = utf8mb4',
]

/** Connections with these settings. */
const setConnections = new WeakSet<MysqlConnection>()

/** Changes the settings of a connection when it is used first. A connection for which this fails is closed. */
function setUp(connection: MysqlConnection): Promise<void> {
  if (setConnections.has(connection)) return Promise.resolve()
  // A statement may be closed after its connection. mysql2 then emits an error, which would end the process: the listener of
  // the pool receives only the first one. The statements that run report the loss of the connection.
  connection.on('error', () => undefined)
  return new Promise((resolve, reject) => {
    connection.query(withComment(`SET ${settings.join()}`), [], (error) => {
      if (error) {
        connection.destroy()
        reject(error)
      } else {
        setConnections.add(connection)
        resolve()
      }
    })
  })
}

/**
 * Makes a query runner send values as parameters of prepared statements, and gives statements of this service a time
 * limit. mysql2's `query` would write the values into the SQL and escape them with backslashes. If `sql_mode` contains
 * `NO_BACKSLASH_ESCAPES`, the server does not treat backslashes as escapes, and a value could inject SQL. So `query` is
 * called only without values.
 */
export function prepareRunner(runner: QueryRunner, timeLimit: number): void {
  const connect = runner.connect.bind(runner)
  let preparedConnection: RunnerConnection | undefined
  runner.connect = async () => {
    const connection: MysqlConnection = await connect()
    if (preparedConnection === undefined) watch(connection, runner.connection.driver, timeLimit)
    await setUp(connection)
    preparedConnection ??= prepareConnection(connection, timeLimit)
    return preparedConnection
  }
}

/**
 * Destroys a connection that does not answer. MySQL limits only the time of SELECT: another statement may still run, and is
 * cancelled after the connection was destroyed, when no other statement can follow on it.
 */
function watch(connection: MysqlConnection, driver: Driver, timeLimit: number): void {
  destroyWhenSilent(connection, timeLimit, {
    stream: connection.stream,
    runningSql: () => connection._command?.sql ?? connection._command?.query,
    cancel: () => void cancelPooled(driver, connection),
  })
}

function prepareConnection(connection: MysqlConnection, timeLimit: number): RunnerConnection {
  const statements = statementsOf(connection)
  const query: MysqlConnection['query'] = (payload, values, done) => {
    const { sql: given, ...options } = typeof payload === 'string' ? { sql: payload } : payload
    const isServiceSql = isServiceStatement(given)
    const limited = (sql: string): string => (isServiceSql ? limitTime(sql, timeLimit) : sql)
    if (!hasValues(values)) return connection.query({ ...options, sql: limited(given) }, [], done)
    const { sql, parameters } =
      isServiceSql || isPreparable(given, values)
        ? { sql: given, parameters: values as readonly unknown[] }
        : toPreparable(connection, given, values)
    const cached = statements.get(sql)
    const statement = cached ?? { sent: limited(sql) }
    if (cached === undefined) statements.set(sql, statement)
    const isCached = cached !== undefined || statements.has(sql)
    const { sent } = statement
    return connection.execute({ ...options, sql: sent }, parameters.map(toParameter), (...result) => {
      if (!isCached) connection.unprepare(sent)
      done(...result)
    })
  }
  const promiseApi = {
    query: (payload: Payload, values: unknown) =>
      new Promise<[unknown, unknown]>((resolve, reject) => {
        query(payload, values, (error, rows, fields) => (error ? reject(error) : resolve([rows, fields])))
      }),
  }
  return { query, promise: () => promiseApi, destroy: () => connection.destroy(), pooled: connection }
}

/**
 * Adds a time limit to a statement. MariaDB executes the content of the `/*M!` comment; MySQL reads the optimizer hint,
 * which works for SELECT only. Each ignores the comment of the other.
 */
export function limitTime(sql: string, timeLimit: number): string {
  if (timeLimit === Number.POSITIVE_INFINITY) return sql
  const hinted = sql.replace(/^SELECT /, `SELECT /*+ MAX_EXECUTION_TIME(${timeLimit}) */ `)
  const seconds = timeLimit / 1000
  // Keeps the limit of the server if it is shorter.
  const shorter = `IF(@@max_statement_time > 0 AND @@max_statement_time < ${seconds}, @@max_statement_time, ${seconds})`
  return `/*M! SET STATEMENT max_statement_time=${shorter} FOR */ ${hinted}`
}

/** Value of a placeholder as mysql2's `execute` accepts it. TypeORM may pass undefined for null. */
export function toParameter(value: unknown): unknown {
  return ArrayBuffer.isView(value) ? toBuffer(value) : (value ?? null)
}

function hasValues(values: unknown): boolean {
  return Array.isArray(values) ? values.length > 0 : values !== undefined && values !== null
}

/**
 * Whether a statement of the application, such as one that a listener runs, can be prepared as it is. mysql2's `query`
 * expands arrays, objects and `??`, its `execute` does not. Statements of this service contain only values that can be
 * parameters (`parameter` of the dialect).
 */
function isPreparable(sql: string, values: unknown): boolean {
  return Array.isArray(values) && values.every(isBindable) && !sql.includes('??')
}

function isBindable(value: unknown): boolean {
  return typeof value !== 'object' || value === null || isDate(value) || ArrayBuffer.isView(value)
}

/**
 * Expands arrays, objects and `??` as mysql2's `query` does, for example `IN (?)` to `IN (?, ?)`, but leaves a
 * placeholder for each value.
 */
function toPreparable(connection: MysqlConnection, sql: string, values: unknown): PreparableStatement {
  const parameters: unknown[] = []
  const placeholder = (value: unknown): object => ({
    toSqlString: () => {
      parameters.push(value)
      return '?'
    },
    // The name in place of `??`.
    toString: () => String(value),
  })
  const expand = (value: unknown): unknown => {
    if (isBindable(value)) return placeholder(value)
    if (Array.isArray(value) || value instanceof Set) return Array.from(value, expand)
    // SQL of the application: the result of mysql2's `raw`.
    if (typeof Object(value).toSqlString === 'function') return value
    if (hasText(value)) return placeholder(String(value))
    const members = value instanceof Map ? value : Object.entries(Object(value))
    return Object.fromEntries(Array.from(members, ([name, member]) => [name, expand(member)]))
  }
  return { sql: connection.format(sql, expand(values)), parameters }
}

interface PreparableStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** A prepared statement of a connection. */
interface SentStatement {
  /** The SQL as it was sent, with the time limit: the key by which mysql2 finds the prepared statement. */
  readonly sent: string
}

type StatementCache = ReturnType<typeof newPreparedStatementCache<SentStatement>>

/** Prepared statements of each connection. mysql2 creates and closes the connections of its pool. */
const statementCaches = new WeakMap<MysqlConnection, StatementCache>()

function statementsOf(connection: MysqlConnection): StatementCache {
  const cache =
    statementCaches.get(connection) ??
    newPreparedStatementCache<SentStatement>(serverLimits, ({ sent }) => connection.unprepare(sent))
  statementCaches.set(connection, cache)
  return cache
}

/** TypeORM's driver with the member `mysql`, the module mysql2, which its interface `Driver` does not declare. */
type MysqlDriver = Driver & {
  readonly mysql: { readonly Connection: new (options: { config: unknown }) => MysqlConnection }
}

/**
 * Cancels the statement that a connection is running. Opens a new connection for this, because all connections of the
 * pool may be busy with such statements.
 */
export function cancelStatement(driver: Driver, connection: unknown): Promise<void> {
  return cancelPooled(driver, (connection as RunnerConnection).pooled)
}

function cancelPooled(driver: Driver, { threadId, config }: MysqlConnection): Promise<void> {
  const { Connection } = (driver as MysqlDriver).mysql
  return new Promise((resolve) => {
    const cancelConnection = new Connection({ config })
    const timer = setTimeout(() => {
      cancelConnection.destroy()
      resolve()
    }, cancelTimeoutMs)
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    cancelConnection.on('error', end)
    cancelConnection.query(`KILL QUERY ${Number(threadId)}`, [], () => {
      cancelConnection.end()
      end()
    })
  })
}

/** Time limit for the connection and the cancellation. */
const cancelTimeoutMs = 5000
