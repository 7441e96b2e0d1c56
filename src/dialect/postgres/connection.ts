import { hash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Driver } from 'typeorm'
import { type KeptStatements, keepStatements } from '../prepared-statements'
import { isOurs } from '../statement-comment'
import { timeLimiter } from './time-limit'

/** What TypeORM's driver for PostgreSQL has besides its interface. */
export type Pools = Driver & {
  readonly master?: Pool
  readonly slaves?: readonly Pool[]
  /** The module of pg. */
  readonly postgres: { readonly types: TypeParsers }
}

/** Reads the text of a value. */
export type TypeParser = (text: string) => unknown

interface TypeParsers {
  readonly getTypeParser: (id: number, format: 'text') => TypeParser
}

/** The parser by which the connections of a driver read values of a type: pg's own, or the application's. */
export function typeParserOf({ postgres, master }: Pools, typeId: number): TypeParser {
  return (master?.options.types ?? postgres.types).getTypeParser(typeId, 'text')
}

/** A pool of pg. */
interface Pool {
  readonly options: { readonly types?: TypeParsers }
  readonly on: (event: 'connect' | 'acquire', listener: (client: PoolClient) => void) => void
}

/** A connection of pg. */
export interface PoolClient extends EventEmitter {
  /** A path for a socket of the machine. */
  readonly host: string
  readonly port: number
  /** Number and key of the connection in the server. */
  readonly processID: number
  readonly secretKey: number
  readonly end: () => Promise<void>
  readonly connection: {
    /** Sends the message Close of PostgreSQL's protocol. */
    readonly close: (statement: { readonly type: 'S'; readonly name: string }) => void
    /** The texts of the statements that pg has prepared, by name. */
    readonly parsedStatements: Record<string, string>
  }
  query: (text: unknown, ...others: unknown[]) => unknown
}

/** What the connections of a pool have in common. */
export interface PoolState {
  /** False behind a pooler that does not support prepared statements. */
  areNamesUsed: boolean
  /** Milliseconds that a statement of this service may take; Infinity for none. */
  readonly timeLimit: number
}

/** A statement that a connection keeps prepared. */
interface NamedStatement {
  readonly name: string
}

interface ServerError {
  readonly code?: string
  readonly message: string
}

/** Whether a pooler hands connections from one client to another without their prepared statements: PgBouncer before 1.21. */
const isOfPooler = ({ code }: ServerError): boolean => code === '42P05' || code === '26000'

/** Whether a table has changed since its statement was prepared. */
const isStale = ({ code, message }: ServerError): boolean => code === '0A000' && /cached plan/i.test(message)

/** Whether an error is about the name of a statement, which was not run, and can be run without one. */
export function isOfName(error: ServerError): boolean {
  return isOfPooler(error) || isStale(error)
}

/** Several mounts of a data source share its connections. */
const prepared = new WeakSet<PoolClient>()

/**
 * Runs this service's own statements as prepared statements under names. Rows come as arrays, which are made faster than objects. They come
 * by a callback: what pg returns by its promise lives longer than it is of use, which at 500 rows costs the garbage collector six times as
 * much (pg 8.23).
 */
export function usePreparedStatements(client: PoolClient, pool: PoolState): void {
  if (prepared.has(client)) return
  prepared.add(client)
  const query = client.query.bind(client)
  const kept = keepStatements<NamedStatement>(({ name }) => forget(client, name))
  const run = (name: string | undefined, text: string, values: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query({ name, text, values, rowMode: 'array' }, (error: ServerError | null, result: unknown) => {
        if (!error) resolve(result)
        else if (name === undefined || !isOfName(error)) reject(error)
        else resolve(runUnnamed(error, text, values))
      })
    })
  const runUnnamed = (error: ServerError, text: string, values: unknown): Promise<unknown> => {
    if (isStale(error)) kept.delete(text)
    else pool.areNamesUsed = false
    // In a transaction, which has failed with it, nothing can be done any more but to begin again.
    return run(undefined, text, values).catch((second: ServerError) => {
      throw second.code === '25P02' ? error : second
    })
  }
  const runOwn = (text: string, values: unknown): Promise<unknown> =>
    run(pool.areNamesUsed ? nameOf(kept, text) : undefined, text, values)
  const limit = timeLimiter(query, pool.timeLimit)
  client.query = (text, ...others) => {
    const [values, callback] = others
    const isOwn = typeof text === 'string' && callback === undefined && isOurs(text)
    const limited = limit(text, isOwn)
    if (!isOwn) return query(text, ...others)
    if (limited !== undefined) return limited.then(() => runOwn(text, values))
    return runOwn(text, values)
  }
}

/** @returns undefined for a text that is not kept prepared */
function nameOf(kept: KeptStatements<NamedStatement>, text: string): string | undefined {
  const known = kept.get(text)
  if (known !== undefined) return known.name
  // A digest of the text: behind a pooler the connection may be one on which another process has prepared its own statements.
  kept.set(text, { name: hash('sha256', text, 'hex').slice(0, 40) })
  return kept.peek(text)?.name
}

/** Releases the memory of a prepared statement in the server, which confirms it together with the response to the next statement. */
function forget({ connection }: PoolClient, name: string): void {
  if (connection.parsedStatements[name] === undefined) return
  delete connection.parsedStatements[name]
  connection.close({ type: 'S', name })
}
