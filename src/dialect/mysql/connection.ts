import { isDate } from 'node:util/types'
import type { Driver, QueryRunner } from 'typeorm'
import { memoize } from '../../schema/memoize'
import { keepStatements } from '../prepared-statements'
import { isOurs } from '../statement-comment'
import { toBuffer } from './parameter'

type Done = (error: Error | null, rows?: unknown, fields?: unknown) => void

/** The text of a statement, or with `enableQueryTimeout` an object of it and its time limit. */
type Payload = string | { readonly sql: string; readonly timeout?: number }

/** A connection of mysql2's pool. */
export interface MysqlConnection {
  /** Number of the connection in the server. */
  readonly threadId: number | null
  readonly config: unknown
  readonly end: () => void
  readonly on: (event: 'error', listener: () => void) => void
  readonly destroy: () => void
  readonly query: (payload: Payload, values: unknown, done: Done) => unknown
  readonly execute: (payload: Payload, values: readonly unknown[], done: Done) => unknown
  /** Closes a prepared statement in the server. */
  readonly unprepare: (sql: string) => unknown
}

/** What TypeORM's query runner uses of a connection: 0.3 passes a callback, 1.x asks for promises. */
export interface RunnerConnection extends Pick<MysqlConnection, 'query' | 'destroy'> {
  readonly pooled: MysqlConnection
  readonly promise: () => { readonly query: (payload: Payload, values: unknown) => Promise<[unknown, unknown]> }
}

/**
 * Sends the values of a query runner's statements apart from their text, as parameters of prepared statements, and gives statements of this
 * service a time limit. mysql2's `query` writes values into the text and escapes them with backslashes, which the server reads as
 * ordinary characters where `sql_mode` contains `NO_BACKSLASH_ESCAPES`: a value could end its string and go on as SQL.
 */
export function prepareRunner(runner: QueryRunner, timeLimit: number): void {
  const connect = runner.connect.bind(runner)
  let prepared: RunnerConnection | undefined
  runner.connect = async () => {
    const connection: MysqlConnection = await connect()
    prepared ??= prepareConnection(connection, timeLimit)
    return prepared
  }
}

function prepareConnection(connection: MysqlConnection, timeLimit: number): RunnerConnection {
  const statements = statementsOf(connection)
  const query: MysqlConnection['query'] = (payload, values, done) => {
    const { sql, ...others } = typeof payload === 'string' ? { sql: payload } : payload
    const isOwn = isOurs(sql)
    if (!hasValues(values) || !(isOwn || values.every(isBindable))) {
      return connection.query({ ...others, sql: isOwn ? limitTime(sql, timeLimit) : sql }, values, done)
    }
    const known = statements.get(sql)
    const statement = known ?? { sent: isOwn ? limitTime(sql, timeLimit) : sql }
    if (known === undefined) statements.set(sql, statement)
    const isKept = known !== undefined || statements.has(sql)
    const { sent } = statement
    // TypeORM passes undefined for null, as `query` allows.
    const parameters = values.map((value) => (ArrayBuffer.isView(value) ? toBuffer(value) : (value ?? null)))
    return connection.execute({ ...others, sql: sent }, parameters, (...result) => {
      if (!isKept) connection.unprepare(sent)
      done(...result)
    })
  }
  const promised = {
    query: (payload: Payload, values: unknown) =>
      new Promise<[unknown, unknown]>((resolve, reject) => {
        query(payload, values, (error, rows, fields) => (error ? reject(error) : resolve([rows, fields])))
      }),
  }
  return { query, promise: () => promised, destroy: () => connection.destroy(), pooled: connection }
}

/** MariaDB runs what stands in the first comment, MySQL knows the hint, which is for SELECT alone; each ignores that of the other. */
function limitTime(sql: string, timeLimit: number): string {
  if (timeLimit === Number.POSITIVE_INFINITY) return sql
  const hinted = sql.replace(/^SELECT /, `SELECT /*+ MAX_EXECUTION_TIME(${timeLimit}) */ `)
  const seconds = timeLimit / 1000
  // A shorter limit of the server stays.
  const shorter = `IF(@@max_statement_time > 0 AND @@max_statement_time < ${seconds}, @@max_statement_time, ${seconds})`
  return `/*M! SET STATEMENT max_statement_time=${shorter} FOR */ ${hinted}`
}

function hasValues(values: unknown): values is readonly unknown[] {
  return Array.isArray(values) && values.length > 0
}

/**
 * Whether a value of a statement of the application, such as one that a listener runs, can be a parameter: mysql2's `query` spreads arrays and
 * objects, its `execute` does not. Statements of this service have nothing else (`mysqlParameter`), and are never written as text.
 */
function isBindable(value: unknown): boolean {
  return typeof value !== 'object' || value === null || isDate(value) || ArrayBuffer.isView(value)
}

/** A statement that a connection keeps prepared, and mysql2 finds by the text that was sent. */
interface SentStatement {
  readonly sent: string
}

const statementsOf = memoize((connection: MysqlConnection) =>
  keepStatements<SentStatement>(({ sent }) => connection.unprepare(sent)),
)

/** What TypeORM's driver has besides its interface: the module of mysql2. */
type MysqlDriver = Driver & {
  readonly mysql: { readonly Connection: new (of: { config: unknown }) => MysqlConnection }
}

/** Ends the statement that a connection is running, through a connection of its own: all of the pool may be waiting for such statements. */
export function cancelStatement(driver: Driver, connection: unknown): Promise<void> {
  const { threadId, config } = (connection as RunnerConnection).pooled
  const { Connection } = (driver as MysqlDriver).mysql
  return new Promise((resolve) => {
    const own = new Connection({ config })
    own.on('error', () => resolve())
    own.query(`KILL QUERY ${Number(threadId)}`, [], () => {
      own.end()
      resolve()
    })
  })
}
