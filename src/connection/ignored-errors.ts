import type { QueryRunner } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { transientErrorOf } from './database-error'
import type { DbTransaction } from './db-session'

/** Thrown instead of running a COMMIT. */
class IgnoredError extends Error {
  override readonly name = 'IgnoredError'
}

/**
 * Runs the work of a transaction and its COMMIT. If a listener or subscriber has caught and ignored an error of the database
 * after which the transaction cannot be committed, COMMIT fails with this error. Otherwise the response would report success
 * although the database has rolled back the transaction.
 *
 * - MySQL and MariaDB roll back the whole transaction after a deadlock, so that a later statement would be committed on its own.
 *   Therefore every statement after a transient error fails with this error.
 * - On PostgreSQL all statements after any error fail, except a rollback to a savepoint, and COMMIT rolls back without an error.
 */
export async function failAfterIgnoredError<T>(
  { dataSource, runner }: DbTransaction,
  workAndCommit: () => Promise<T>,
): Promise<T> {
  const { failsTransactions } = dialectOf(dataSource)
  /** The error that the transaction cannot recover from; on PostgreSQL, the first one since a statement has succeeded. */
  let failure: { readonly error: unknown; readonly isTransient: boolean } | undefined
  let isCommitted = false
  const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<unknown>
  const guarded = async (...parameters: unknown[]): Promise<unknown> => {
    // A statement of a subscriber that is called after the commit.
    if (isCommitted) return query(...parameters)
    const isCommit = parameters[0] === 'COMMIT'
    if (failure !== undefined && isCommit)
      throw new IgnoredError('a listener ignored an error', { cause: failure.error })
    if (failure !== undefined && !failsTransactions) throw failure.error
    try {
      const result = await query(...parameters)
      failure = undefined
      isCommitted = isCommit
      return result
    } catch (error) {
      const isTransient = transientErrorOf(error, dataSource) !== undefined
      if (isTransient || failsTransactions) failure ??= { error, isTransient }
      throw failure?.isTransient ? failure.error : error
    }
  }
  const restore = replaceQuery(runner, guarded as QueryRunner['query'])
  try {
    return await workAndCommit()
  } catch (error) {
    throw error instanceof IgnoredError ? error.cause : error
  } finally {
    restore()
  }
}

/** Replaces the method `query` of a query runner. @returns a function that restores it */
function replaceQuery(runner: QueryRunner, query: QueryRunner['query']): () => void {
  const own = Object.getOwnPropertyDescriptor(runner, 'query')
  Object.defineProperty(runner, 'query', { value: query, configurable: true, writable: true, enumerable: true })
  return () => {
    if (own === undefined) Reflect.deleteProperty(runner, 'query')
    else Object.defineProperty(runner, 'query', own)
  }
}
