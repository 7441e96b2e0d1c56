import { hash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Driver } from 'typeorm'
import { isOurs } from './statement-comment'

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

/** A pool of pg. */
interface Pool {
  readonly options: { readonly types?: TypeParsers }
  readonly on: (event: 'connect' | 'acquire', listener: (client: PoolClient) => void) => void
}

/** A connection of pg. */
export interface PoolClient extends EventEmitter {
  readonly end: () => Promise<void>
  query: (text: unknown, ...others: unknown[]) => unknown
}

/** Each takes memory of every connection's server process. */
const mostNames = 256

/** The names under which the server keeps our statements prepared. */
export interface StatementNames {
  /** @returns undefined for a text that is sent whole */
  readonly nameOf: (text: string) => string | undefined
  readonly sendWhole: (text: string) => void
  readonly sendAllWhole: () => void
}

/** A name is a digest of its text: behind a pooler the connection may be one on which another process has prepared its own. */
export function newStatementNames(): StatementNames {
  const names = new Map<string, string | undefined>()
  let areUsed = true
  return {
    nameOf: (text) => {
      if (!areUsed) return undefined
      if (!names.has(text) && names.size < mostNames) names.set(text, hash('sha256', text, 'hex').slice(0, 40))
      return names.get(text)
    },
    sendWhole: (text) => void names.set(text, undefined),
    sendAllWhole: () => {
      areUsed = false
    },
  }
}

interface ServerError {
  readonly code?: string
  readonly message: string
}

/** What poolers that hand connections from one client to another make of names: PgBouncer before 1.21. */
const isOfPooler = ({ code }: ServerError): boolean => code === '42P05' || code === '26000'

/** Its table has changed since it was prepared. */
const isStale = ({ code, message }: ServerError): boolean => code === '0A000' && /cached plan/i.test(message)

/** Whether an error is about the name of a statement, which was not done, and can be done without one. */
export function isOfName(error: ServerError): boolean {
  return isOfPooler(error) || isStale(error)
}

/** Several mounts of a data source share its connections. */
const hastened = new WeakSet<PoolClient>()

/**
 * Has a connection run our own statements in its quickest way. They are prepared under names. Rows come as arrays, which are made
 * faster than objects. And they come by a callback: what pg returns by its promise lives longer than it is of use, which at 500
 * rows costs the garbage collector six times as much (pg 8.23).
 */
export function hasten(client: PoolClient, names: StatementNames): void {
  if (hastened.has(client)) return
  hastened.add(client)
  const query = client.query.bind(client)
  const run = (name: string | undefined, text: string, values: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query({ name, text, values, rowMode: 'array' }, (error: ServerError | null, result: unknown) => {
        if (!error) resolve(result)
        else if (name === undefined || !isOfName(error)) reject(error)
        else resolve(runWhole(error, text, values))
      })
    })
  const runWhole = (error: ServerError, text: string, values: unknown): Promise<unknown> => {
    if (isStale(error)) names.sendWhole(text)
    else names.sendAllWhole()
    // In a transaction, which has failed with it, nothing can be done any more but to begin anew.
    return run(undefined, text, values).catch((second: ServerError) => {
      throw second.code === '25P02' ? error : second
    })
  }
  client.query = (text, ...others) => {
    const [values, callback] = others
    if (typeof text !== 'string' || callback !== undefined || !isOurs(text)) return query(text, ...others)
    return run(names.nameOf(text), text, values)
  }
}
