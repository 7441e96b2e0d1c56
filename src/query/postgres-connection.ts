import { hash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Driver } from 'typeorm'
import { isOurs } from './statement-comment'

/** What TypeORM's driver for PostgreSQL has besides its interface. */
export type Pools = Driver & { readonly master?: Pool; readonly slaves?: readonly Pool[] }

/** A pool of pg. */
interface Pool {
  readonly on: (event: 'connect', listener: (client: PoolClient) => void) => void
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

/**
 * Has a connection run our own statements in its quickest way. They are prepared under names. Rows come as arrays, which are made
 * faster than objects. And they come by a callback: what pg returns by its promise lives longer than it is of use, which at 500 rows
 * costs the garbage collector six times as much (pg 8.23).
 */
export function hasten(client: PoolClient, names: StatementNames): void {
  const query = client.query.bind(client)
  const run = (config: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query({ ...config, rowMode: 'array' }, (error: unknown, result: unknown) =>
        error ? reject(error) : resolve(result),
      )
    })
  client.query = (text, ...others) => {
    const [values, callback] = others
    if (typeof text !== 'string' || callback !== undefined || !isOurs(text)) return query(text, ...others)
    const name = names.nameOf(text)
    if (name === undefined) return run({ text, values })
    return run({ name, text, values }).catch((error: ServerError) => {
      if (!isOfName(error)) throw error
      if (isStale(error)) names.sendWhole(text)
      else names.sendAllWhole()
      // In a transaction, which has failed with it, nothing can be done any more but to begin anew.
      return run({ text, values }).catch((second: ServerError) => {
        throw second.code === '25P02' ? error : second
      })
    })
  }
}
