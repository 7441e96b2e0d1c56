import { setTimeout } from 'node:timers/promises'
import type { QueryResult, QueryRunner } from 'typeorm'
import { traced } from '../diagnostics'
import { dialectOf } from '../dialect/dialect-of'
import { isQueryFailure } from '../dialect/typeorm-error'
import { clientDisconnected } from '../errors'
import { sharedRunner, shareTransaction } from '../sqlite-lock/install'
import { sendAs } from '../sqlite-lock/sender'
import { toDriverParameters } from './compile'
import type { WorkKind } from './connection-shares'
import { toLoggable } from './database-error'
import { type DbSession, type DbTransaction, rollBack, withPooledRunner, withQueryRunner } from './db-session'
import { failAfterIgnoredError } from './ignored-errors'
import { showPrincipal } from './show-principal'
import type { Statement } from './statement-cache'

/** A row as the driver returns it: an object or an array. The key of each column is its position in the SELECT. */
export type RawRow = Readonly<Record<number, unknown>>

/**
 * Runs a statement, without building entities, firing events or starting a transaction.
 * @param kind `write` if the statement can wait for locked records; without effect in a transaction
 */
export function execute(
  session: DbSession,
  statement: Statement,
  values: readonly unknown[],
  kind: WorkKind = 'read',
): Promise<QueryResult<RawRow>> {
  const { dataSource, trace, settings } = session
  const parameters = toDriverParameters(dataSource, statement, values)
  // In a transaction, `applySettings` has applied them to all statements.
  if (settings !== undefined && session.runner === undefined)
    dialectOf(dataSource).settings?.attach(parameters, settings)
  const runQuery = (runner: QueryRunner): Promise<QueryResult> => runner.query(statement.sql, parameters, true)
  const run = (): Promise<QueryResult> => {
    if (session.runner !== undefined) return runQuery(session.runner)
    const shared = sharedRunner(dataSource)
    if (shared !== undefined) return runQuery(sendAs(session, shared))
    return withPooledRunner(session, (runner) => runForClient(session, runner, runQuery), kind)
  }
  return trace === undefined ? run() : traced(trace, run)
}

/**
 * Runs statements, and lets the database cancel them when the client closes its connection.
 * @throws {ApiError} `unavailable` if the client has closed its connection
 */
export async function runForClient<T>(
  { dataSource, client }: DbSession,
  runner: QueryRunner,
  runQuery: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { cancel } = dialectOf(dataSource)
  if (client === undefined || cancel === undefined) return runQuery(runner)
  if (client.destroyed) throw clientDisconnected()
  let isDone = false
  let cancellation: Promise<void> | undefined
  const cancelUntilDone = async (): Promise<void> => {
    const connection: unknown = await runner.connect()
    // The driver may send several statements. A cancellation that arrives between two of them has no effect, so it is
    // repeated.
    while (!isDone) {
      await cancel(dataSource.driver, connection)
      if (!isDone) await setTimeout(cancelIntervalMs)
    }
  }
  const onClose = (): void => {
    // If the cancellation fails, the statement ends at its time limit.
    cancellation = cancelUntilDone().catch(() => undefined)
  }
  client.once('close', onClose)
  try {
    return await runQuery(runner)
  } catch (error) {
    throw cancellation === undefined ? error : clientDisconnected()
  } finally {
    isDone = true
    client.off('close', onClose)
    // Otherwise a late cancellation could end the next statement on this connection.
    await cancellation
  }
}

/** Time between two cancellations of the same statement, in milliseconds. */
const cancelIntervalMs = 50

/** Isolation level of a transaction. */
type Isolation = 'READ COMMITTED' | 'REPEATABLE READ'

/**
 * Runs `work` in the transaction of the session, or else in a new one, which is rolled back if `work` throws. In a new one,
 * listeners and subscribers find the principal in `queryRunner.data`.
 * @param isolation isolation level of a new transaction. Default: that of the database
 * @param kind `read` or `stream` only if neither `work` nor the listeners that it calls write
 */
export function runInTransaction<T>(
  session: DbSession,
  work: (session: DbTransaction) => Promise<T>,
  isolation?: Isolation,
  kind: WorkKind = 'write',
): Promise<T> {
  const run = async (runner: QueryRunner): Promise<T> => {
    if (session.runner !== undefined) return work({ ...session, runner })
    const transaction = { ...session, runner, changes: [] }
    return showPrincipal(transaction, () => commitOrRollBack(transaction, work, isolation))
  }
  return withQueryRunner(session, run, kind)
}

/**
 * As {@link runInTransaction}, for work that calls validators and access rules of the application. The statements that they
 * run through the data source have another connection, or if all requests share one, they are part of the transaction.
 */
export function runSharedTransaction<T>(
  session: DbSession,
  work: (session: DbTransaction) => Promise<T>,
  isolation?: Isolation,
): Promise<T> {
  const { dataSource } = session
  if (!dialectOf(dataSource).sharesConnection) return runInTransaction(session, work, isolation)
  return runInTransaction(session, (inner) => shareTransaction(dataSource, () => work(inner)), isolation)
}

async function commitOrRollBack<T>(
  transaction: DbTransaction,
  work: (session: DbTransaction) => Promise<T>,
  isolation: Isolation | undefined,
): Promise<T> {
  const { runner, dataSource } = transaction
  const endLimit = dialectOf(dataSource).limitTransaction?.(await runner.connect())
  try {
    await runner.startTransaction(isolation)
    await applySettings(transaction)
    return await failAfterIgnoredError(transaction, async () => {
      const result = await work(transaction)
      await commit(transaction)
      return result
    })
  } catch (error) {
    if (runner.isTransactionActive) await rollBack(transaction, runner)
    throw error
  } finally {
    endLimit?.()
  }
}

/**
 * Runs a part of a transaction in which a statement may fail. The transaction can continue after the error: without a
 * savepoint, all further statements would fail on PostgreSQL. Other databases roll back only the failed statement.
 */
export async function runInSavepoint<T>(
  transaction: DbTransaction,
  work: (session: DbTransaction) => Promise<T>,
): Promise<T> {
  return dialectOf(transaction.dataSource).failsTransactions ? runUndoable(transaction, work) : work(transaction)
}

/** Runs several statements of a transaction. If one fails, all of them are rolled back, and the transaction can continue. */
export async function runUndoable<T>(
  transaction: DbTransaction,
  work: (session: DbTransaction) => Promise<T>,
): Promise<T> {
  const { runner, changes = [] } = transaction
  const changeCount = changes.length
  await runner.query('SAVEPOINT tr_write')
  try {
    const result = await work(transaction)
    await runner.query('RELEASE SAVEPOINT tr_write')
    return result
  } catch (error) {
    changes.length = changeCount
    await rollBackToSavepoint(runner)
    throw error
  }
}

/** Rolls back to the savepoint and removes it: otherwise an outer savepoint with the same name could not be reached. */
async function rollBackToSavepoint(runner: QueryRunner): Promise<void> {
  try {
    await runner.query('ROLLBACK TO SAVEPOINT tr_write')
    await runner.query('RELEASE SAVEPOINT tr_write')
  } catch {
    // The connection is lost, or a listener has ended the transaction: the caller needs the first error.
  }
}

/** Runs `work` in a savepoint if the session is in a transaction: see {@link runInSavepoint}. */
export function runFallible<T>(session: DbSession, work: (session: DbSession) => Promise<T>): Promise<T> {
  return isInTransaction(session) ? runInSavepoint(session, work) : work(session)
}

/** Whether a session is in a transaction. */
export function isInTransaction(session: DbSession): session is DbTransaction {
  return session.runner !== undefined
}

/** Makes the settings of the session apply to the transaction that its query runner has begun. */
export async function applySettings({ dataSource, settings, runner }: DbTransaction): Promise<void> {
  if (settings !== undefined) dialectOf(dataSource).settings?.begin(await runner.connect(), settings)
}

async function commit({ dataSource, runner, changes = [], observer }: DbTransaction): Promise<void> {
  await runner.commitTransaction().catch((error: unknown) => {
    observer.settle(runner)
    // The transaction was not committed: for example, COMMIT checks deferred constraints.
    if (runner.isTransactionActive) throwWriteError(error)
    // The transaction was committed. The error must not be one that refuses the write or makes it run again.
    observer.publish(changes)
    throw new Error('a subscriber has thrown an error after the commit', { cause: toLoggable(error, dataSource) })
  })
  observer.publish(changes)
}

/** Error of the database for an INSERT, UPDATE, DELETE or COMMIT. Nothing was written. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
}

/** Runs an INSERT, UPDATE or DELETE like {@link execute}. @throws {WriteError} if the database rejects it */
export function executeWrite(
  session: DbSession,
  statement: Statement,
  values: readonly unknown[],
): Promise<QueryResult<RawRow>> {
  return execute(session, statement, values, 'write').catch(throwWriteError)
}

/** Throws an error of the database as a `WriteError`, and any other error unchanged. @throws {WriteError} */
export function throwWriteError(cause: unknown): never {
  throw isQueryFailure(cause) ? new WriteError(cause.message, { cause }) : cause
}
