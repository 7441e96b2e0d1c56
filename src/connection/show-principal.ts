import { dialectOf } from '../dialect/dialect-of'
import { sharedRunner } from '../sqlite-lock/install'
import type { DbTransaction } from './db-session'

/**
 * Runs `work`. Until it ends, listeners and subscribers find the principal of the request in
 * `event.queryRunner.data.principal` (specification: Listeners). Afterwards the query runner does not have it any more,
 * because a pool or TypeORM may use the query runner for another request.
 */
export async function showPrincipal<T>(
  { dataSource, principal, runner }: Pick<DbTransaction, 'dataSource' | 'principal' | 'runner'>,
  work: () => Promise<T>,
): Promise<T> {
  // On SQLite without the lock, all requests have the same query runner at the same time.
  const isShared = dialectOf(dataSource).sharesConnection && sharedRunner(dataSource) === undefined
  if (principal === undefined || isShared) return work()
  // In a batch, the operations of one transaction may have different principals.
  const outer: unknown = runner.data['principal']
  runner.data['principal'] = principal
  try {
    return await work()
  } finally {
    if (outer === undefined) delete runner.data['principal']
    else runner.data['principal'] = outer
  }
}
