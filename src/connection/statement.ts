import { setTimeout } from 'node:timers/promises'
import type { QueryResult, QueryRunner } from 'typeorm'
import { traced } from '../diagnostics'
import { dialectOf } from '../dialect/dialect-of'
import { isQueryFailure } from '../dialect/typeorm-error'
import { type ApiError, unavailable } from '../errors'
import { sharedRunner } from '../sqlite-lock/install'
import { toDriverParameters } from './compile'
import { toLoggable } from './database-error'
import { type DbSession, type DbTransaction, rollBack, withPooledRunner, withQueryRunner } from './db-session'
import type { Statement } from './statement-cache'

/** A row as the driver hands it out: an object, or an array, whose columns are named by their position. */
export type RawRow = Readonly<Record<number, unknown>>

/** Runs a statement: without entities, events and transactions. */
export function execute(
  session: DbSession,
  statement: Statement,
  values: readonly unknown[],
): Promise<QueryResult<RawRow>> {
  const { dataSource, trace } = session
  const parameters = toDriverParameters(dataSource, statement, values)
  const ask = (runner: QueryRunner): Promise<QueryResult> => runner.query(statement.sql, parameters, true)
  const runner = session.runner ?? sharedRunner(dataSource)
  const asked = (): Promise<QueryResult> =>
    runner === undefined ? withPooledRunner(session, (own) => whileAwaited(session, own, ask)) : ask(runner)
  return trace === undefined ? asked() : traced(trace, asked)
}

/** Runs a statement for a client, and has the database end it when the client closes its connection. */
async function whileAwaited<T>(
  { dataSource, client }: DbSession,
  runner: QueryRunner,
  ask: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { cancel } = dialectOf(dataSource)
  if (client === undefined || cancel === undefined) return ask(runner)
  if (client.destroyed) throw clientGone()
  let isDone = false
  let cancelled: Promise<void> | undefined
  const cancelUntilDone = async (): Promise<void> => {
    const connection: unknown = await runner.connect()
    // One may come between two statements that are sent for this one.
    while (!isDone) {
      await cancel(dataSource.driver, connection)
      if (!isDone) await setTimeout(cancelIntervalMs)
    }
  }
  const onClose = (): void => {
    // Without a cancellation the statement ends at its time limit.
    cancelled = cancelUntilDone().catch(() => undefined)
  }
  client.once('close', onClose)
  try {
    return await ask(runner)
  } catch (error) {
    throw cancelled === undefined ? error : clientGone()
  } finally {
    isDone = true
    client.off('close', onClose)
    // Else the next statement on this connection could be the one that is ended.
    await cancelled
  }
}

/** Time between two cancellations of one statement. */
const cancelIntervalMs = 50

/** Nobody receives it. */
function clientGone(): ApiError {
  return unavailable('the client has closed its connection')
}

/** Does work in one transaction: the session's own, or a new one that is rolled back when the work throws. */
export function transact<T>(session: DbSession, work: (session: DbTransaction) => Promise<T>): Promise<T> {
  return withQueryRunner(session, async (runner) => {
    const transaction = { ...session, runner }
    if (session.runner !== undefined) return work(transaction)
    try {
      await runner.startTransaction()
      const result = await work(transaction)
      await commit(transaction)
      return result
    } catch (error) {
      if (runner.isTransactionActive) await rollBack(session, runner)
      throw error
    }
  })
}

async function commit({ dataSource, runner }: DbTransaction): Promise<void> {
  await runner.commitTransaction().catch((error: unknown) => {
    // A deferred constraint speaks at the end.
    if (runner.isTransactionActive) throwWriteError(error)
    // It is committed: nothing may be answered that says otherwise, nor may it be done again.
    throw new Error('a subscriber has thrown after the commit', { cause: toLoggable(error, dataSource) })
  })
}

/** A statement that writes has failed, and nothing is written. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
}

/** As {@link execute}, for INSERT, UPDATE and DELETE. @throws {WriteError} for what the database says against it */
export async function executeWrite(
  session: DbSession,
  statement: Statement,
  values: readonly unknown[],
): Promise<QueryResult<RawRow>> {
  return execute(session, statement, values).catch(throwWriteError)
}

/** @throws {WriteError} */
export function throwWriteError(cause: unknown): never {
  throw isQueryFailure(cause) ? new WriteError(cause.message, { cause }) : cause
}
