import { hash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Driver } from 'typeorm'
import { newPreparedStatementCache, type PreparedStatementCache, serverLimits } from '../prepared-statements'
import { isServiceStatement } from '../statement-comment'
import { newSettingQuery, type QueryClass, type QueryConnection, settingsAttachedTo } from './statement-settings'
import { timeLimiter } from './time-limit'

/** TypeORM's driver for PostgreSQL with the members that its interface `Driver` does not declare. */
export type PostgresDriver = Driver & {
  readonly master?: Pool
  readonly slaves?: readonly Pool[]
  /** The module of pg. */
  readonly postgres: Pg
}

/** Part of the module of pg. */
interface Pg {
  readonly types: TypeParsers
  readonly Query: QueryClass
}

/** Parses the text of a value. */
export type TypeParser = (text: string) => unknown

interface TypeParsers {
  readonly getTypeParser: (id: number, format: 'text') => TypeParser
}

/** The parser that the connections of a driver use for a type: pg's own, or that of the application. @param typeId OID */
export function typeParserOf({ postgres, master }: PostgresDriver, typeId: number): TypeParser {
  return (master?.options.types ?? postgres.types).getTypeParser(typeId, 'text')
}

/** A pool of pg. */
interface Pool {
  readonly options: { readonly types?: TypeParsers }
  readonly on: (event: 'connect' | 'acquire', listener: (client: PoolClient) => void) => void
}

/** A connection of pg. */
export interface PoolClient extends EventEmitter {
  /** A host name, or the directory of a Unix socket. */
  readonly host: string
  readonly port: number
  /** Process ID and secret key of the connection in the server, needed to cancel a statement. */
  readonly processID: number
  readonly secretKey: number
  readonly end: () => Promise<void>
  /** The query that is running. Version 8.23 of pg has renamed it, and warns when the old name is used. */
  readonly activeQuery?: RunningQuery | null
  readonly _activeQuery?: RunningQuery | null
  readonly connection: QueryConnection & {
    readonly stream: unknown
    /** Sends the protocol message Close, which closes a prepared statement. */
    readonly close: (statement: { readonly type: 'S'; readonly name: string }) => void
    /** The SQL of the statements that pg has prepared, by name. */
    readonly parsedStatements: Record<string, string>
  }
  query: (text: unknown, ...parameters: unknown[]) => unknown
}

/** A query that a connection has sent: one of pg, or a submittable object of the application, such as a cursor. */
interface RunningQuery {
  readonly text?: unknown
}

/** SQL of the statement that a connection is running; undefined if there is none. */
export function runningSqlOf(client: PoolClient): string | undefined {
  const query = '_activeQuery' in client ? client._activeQuery : client.activeQuery
  return query ? String(query.text) : undefined
}

/** State that the connections of all pools of a data source share. */
export interface PoolState {
  /** Set to false after an error shows that a pooler does not support prepared statements. */
  supportsPreparedStatements: boolean
  /** Number of errors which show that tables were changed after a connection has prepared its statements. */
  staleErrors: number
  /** Time limit for statements of this service, in milliseconds; Infinity for no limit. */
  readonly timeLimit: number
  /** The class `Query` of pg. */
  readonly Query: QueryClass
}

/** A prepared statement of a connection. */
interface NamedStatement {
  readonly name: string
}

interface ServerError {
  readonly code?: string
  /** Function in PostgreSQL's source code that reported the error. Unlike the message, it is not translated. */
  readonly routine?: string
}

/**
 * Whether an error (`duplicate_prepared_statement`, `invalid_sql_statement_name`) is caused by a pooler that shares
 * connections between clients but does not support prepared statements, such as PgBouncer before 1.21.
 */
const isPoolerError = ({ code }: ServerError): boolean => code === '42P05' || code === '26000'

/** Whether the columns of a result have changed since the statement was prepared, for example by ALTER TABLE. */
const isStale = ({ code, routine }: ServerError): boolean => code === '0A000' && routine === 'RevalidateCachedQuery'

/**
 * Whether an error concerns only the prepared statement, not its SQL or values. The statement was not executed; it can be
 * executed without a name, which does not use the prepared statement.
 */
export function isPreparedStatementError(error: ServerError): boolean {
  return isPoolerError(error) || isStale(error)
}

/** Connections whose `query` has been replaced: several mounts can share the connections of a data source. */
const patchedClients = new WeakSet<PoolClient>()

/**
 * Makes a connection run statements of this service as named prepared statements. Rows are arrays, which pg creates
 * faster than objects. Results are received by a callback: pg's promise keeps them in memory longer than needed, which
 * at 500 rows makes garbage collection cost six times as much (pg 8.23).
 */
export function usePreparedStatements(client: PoolClient, state: PoolState): void {
  if (patchedClients.has(client)) return
  patchedClients.add(client)
  const query = client.query.bind(client)
  const statements = newPreparedStatementCache<NamedStatement>(serverLimits, ({ name }) => closeStatement(client, name))
  const run = (name: string | undefined, text: string, values: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const config = { name, text, values, rowMode: 'array' }
      // Values of `databaseSettings`, which the session has attached to the array of bind values.
      const settings = settingsAttachedTo(values)
      const sent = settings === undefined ? config : newSettingQuery(state.Query, config, settings)
      query(sent, (error: ServerError | null, result: unknown) => {
        // With settings, pg returns two results: that of the settings and that of the statement.
        if (!error) resolve(Array.isArray(result) ? result.at(-1) : result)
        else if (name === undefined || !isPreparedStatementError(error)) reject(error)
        else resolve(runUnnamed(error, text, values))
      })
    })
  const runUnnamed = (error: ServerError, text: string, values: unknown): Promise<unknown> => {
    if (isStale(error)) state.staleErrors += 1
    else state.supportsPreparedStatements = false
    // Inside a transaction, the first error has aborted the transaction, and the second attempt fails with 25P02. Then the
    // first error is thrown: it is a transient error, after which the caller repeats the transaction.
    return run(undefined, text, values).catch((retryError: ServerError) => {
      throw retryError.code === '25P02' ? error : retryError
    })
  }
  let knownErrors = state.staleErrors
  const runOwn = (text: string, values: unknown): Promise<unknown> => {
    // After an error of a stale statement on any connection, all statements are prepared again: otherwise the repetition of a
    // transaction could fail too, at its next statement or on another connection.
    if (knownErrors !== state.staleErrors) statements.clear()
    knownErrors = state.staleErrors
    return run(state.supportsPreparedStatements ? nameOf(statements, text) : undefined, text, values)
  }
  const setTimeLimit = timeLimiter(query, state.timeLimit)
  client.query = (text, ...parameters) => {
    const [values] = parameters
    // The statements of this service run through TypeORM, which passes no callback. Another copy of this package, which has
    // replaced `query` too, passes one with its settings.
    const hasCallback = typeof parameters.at(-1) === 'function'
    const isServiceSql = typeof text === 'string' && !hasCallback && isServiceStatement(text)
    const limited = setTimeLimit(text, isServiceSql)
    if (!isServiceSql) return query(text, ...parameters)
    if (limited !== undefined) return limited.then(() => runOwn(text, values))
    return runOwn(text, values)
  }
}

/** Name of the prepared statement for a text; undefined if it is not prepared because of its size. */
function nameOf(statements: PreparedStatementCache<NamedStatement>, text: string): string | undefined {
  const cached = statements.get(text)
  if (cached !== undefined) return cached.name
  // The name is a digest of the text, because a pooler may share the connection with another process that has prepared
  // other statements.
  statements.set(text, { name: hash('sha256', text, 'hex').slice(0, 40) })
  return statements.peek(text)?.name
}

/**
 * Closes a prepared statement in the server. The server confirms this together with the response to the next statement.
 */
function closeStatement({ connection }: PoolClient, name: string): void {
  if (connection.parsedStatements[name] === undefined) return
  delete connection.parsedStatements[name]
  connection.close({ type: 'S', name })
}
