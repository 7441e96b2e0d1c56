import type { DbTransaction } from '../connection/db-session'
import { isInTransaction, throwWriteError } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import { withComment } from '../dialect/statement-comment'
import { ApiError } from '../errors'
import type { PermittedRequest } from './service'

/** Thrown to roll back a write that was only a test, after everything has succeeded. */
export class DryRun extends Error {
  override readonly name = 'DryRun'

  /** Handler for the error of a transaction. @throws every other error */
  static ignore(this: void, error: unknown): undefined {
    if (!(error instanceof DryRun)) throw error
  }
}

/**
 * Ends a write that was only a test.
 * @throws {DryRun}
 * @throws {WriteError} if a deferred constraint is violated, as by COMMIT
 */
export async function endDryRun({ dataSource, runner }: DbTransaction): Promise<never> {
  const { deferredCheckSql } = dialectOf(dataSource)
  if (deferredCheckSql !== undefined) await runner.query(withComment(deferredCheckSql)).catch(throwWriteError)
  throw new DryRun()
}

/**
 * Whether a POST of several records only checks them (specification: Imports). That is not possible in a transaction of the
 * caller, which would not be rolled back.
 * @throws {ApiError} `bad-query`
 */
export function isDryRun({ parameters, session }: PermittedRequest): boolean {
  const { dryRun } = parameters
  if (dryRun && isInTransaction(session)) {
    throw new ApiError('bad-query', 'dry_run is not possible in a batch, or with an Idempotency-Key')
  }
  return dryRun
}

/**
 * Refuses a request that would write one record and has `dry_run=true`: only several records can be checked without writing.
 * @throws {ApiError} `bad-query`
 */
export function requireNoDryRun(request: PermittedRequest): void {
  if (!isDryRun(request)) return
  throw new ApiError(
    'bad-query',
    'dry_run is possible for an array of records or a file, if the resource has the option bulk',
  )
}
