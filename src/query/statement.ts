import { type DataSource, type ObjectLiteral, type QueryBuilder, QueryFailedError, type QueryRunner } from 'typeorm'
import { traced } from '../diagnostics'
import { rollBack, type Session, type Transaction, withRunner } from './connection'
import { dialectOf } from './dialect-of'
import { toLoggable } from './fault'

/** A row as the driver hands it out, its columns named by the statement. */
export type RawRow = Readonly<Record<string, unknown>>

/** What a statement has returned. */
export interface Result {
  readonly rows: readonly RawRow[]
  /** How many rows an UPDATE or DELETE was about; 0 where it returned them. */
  readonly affected: number
  /** The driver's own result. */
  readonly raw: unknown
}

/**
 * Runs what a QueryBuilder says, as text: without entities, events and transactions.
 * @param returning what follows the builder's own text, as ` RETURNING "id"`
 */
export async function execute(session: Session, builder: QueryBuilder<ObjectLiteral>, returning = ''): Promise<Result> {
  const { dataSource } = session
  // SQLite's driver writes numbers into the text, which makes a new text of each; in an object they stay parameters.
  const wrappers = new Map<unknown, number>()
  const wrap = (value: unknown): unknown => {
    if (typeof value !== 'number') return value
    const wrapper = {}
    wrappers.set(wrapper, value)
    return wrapper
  }
  const query = builder.getQuery()
  const named = Object.entries(builder.getParameters()).map(([name, value]) => [name, wrap(value)])
  const [sql, parameters] = placeholders(dataSource, query, Object.fromEntries(named))
  const { parameter: toDriver } = dialectOf(dataSource)
  const bound = parameters.map((parameter) => toDriver(wrappers.get(parameter) ?? parameter))
  // The sqlite3 driver of TypeORM 0.3 reads no rows of what begins with INSERT, UPDATE or DELETE.
  const text = `${returning !== '' && isSqlite3(dataSource) ? ' ' : ''}${sql}${returning}`
  return withRunner(session, (runner) => traced(session.trace, () => run(runner, text, bound)))
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
  builder: QueryBuilder<ObjectLiteral>,
  returning = '',
): Promise<Result> {
  return execute(session, builder, returning).catch(throwWriteError)
}

/** @throws {WriteError} */
export function throwWriteError(cause: unknown): never {
  throw cause instanceof QueryFailedError ? new WriteError(cause.message, { cause }) : cause
}

async function run(runner: QueryRunner, sql: string, parameters: unknown[]): Promise<Result> {
  const { records, affected = 0, raw } = await runner.query(sql, parameters, true)
  return { rows: records, affected, raw }
}

/** TypeORM 1 has that driver no more, nor its name. */
function isSqlite3({ options }: DataSource): boolean {
  return String(options.type) === 'sqlite'
}

/** Puts the driver's placeholders for named parameters. TypeORM 0.3 wants a third argument, which later ones leave out. */
function placeholders({ driver }: DataSource, query: string, named: ObjectLiteral): [string, unknown[]] {
  const escapeQuery: (query: string, named: ObjectLiteral, native: ObjectLiteral) => [string, unknown[]] =
    driver.escapeQueryWithParameters.bind(driver)
  return escapeQuery(query, named, {})
}
