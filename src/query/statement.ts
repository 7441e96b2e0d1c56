import { QueryFailedError, type QueryResult, type QueryRunner } from 'typeorm'
import { traced } from '../diagnostics'
import { parametersOf, type Statement } from './compile'
import { rollBack, type Session, type Transaction, withNextRunner, withRunner } from './connection'
import { toLoggable } from './fault'
import { standingRunner } from './sqlite-lock'

/** A row as the driver hands it out: an object, or an array, whose columns are named by their position. */
export type RawRow = Readonly<Record<number, unknown>>

/** Runs a statement: without entities, events and transactions. */
export function execute(
  session: Session,
  statement: Statement,
  values: readonly unknown[],
): Promise<QueryResult<RawRow>> {
  const { dataSource, trace } = session
  const parameters = parametersOf(dataSource, statement, values)
  const ask = (runner: QueryRunner): Promise<QueryResult> => runner.query(statement.sql, parameters, true)
  const runner = session.runner ?? standingRunner(dataSource)
  const asked = (): Promise<QueryResult> => (runner === undefined ? withNextRunner(session, ask) : ask(runner))
  return trace === undefined ? asked() : traced(trace, asked)
}

/** Does work in one transaction: the session's own, or a new one that is rolled back when the work throws. */
export function transact<T>(session: Session, work: (session: Transaction) => Promise<T>): Promise<T> {
  return withRunner(session, async (runner) => {
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

async function commit({ dataSource, runner }: Transaction): Promise<void> {
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
  session: Session,
  statement: Statement,
  values: readonly unknown[],
): Promise<QueryResult<RawRow>> {
  return execute(session, statement, values).catch(throwWriteError)
}

/** @throws {WriteError} */
export function throwWriteError(cause: unknown): never {
  throw cause instanceof QueryFailedError ? new WriteError(cause.message, { cause }) : cause
}
