import type { DataSource, QueryRunner } from 'typeorm'
import type { Trace } from '../diagnostics'
import { dialectOf } from './dialect-of'
import { ConnectionError, Handover } from './handover'
import { memoize } from './memoize'

/** Where statements run: anywhere in the data source, or in the one connection of a transaction. */
export interface Session {
  readonly dataSource: DataSource
  /** How long to wait for a connection, in milliseconds. */
  readonly waitLimit: number
  readonly runner?: QueryRunner
  /** Whether a replica may answer, which may be behind; where there is none, the primary does. */
  readonly replica?: boolean
  /** What the statements of a request have cost; undefined when nobody wants to know. */
  readonly trace?: Trace
}

/** A session inside a transaction. */
export type Transaction = Session & Required<Pick<Session, 'runner'>>

/** Does work in the session's connection, or in one of its own that is given back afterwards. */
export async function withRunner<T>(session: Session, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  if (session.runner !== undefined) return work(session.runner)
  const runner = await takeRunner(session)
  try {
    return await work(runner)
  } finally {
    await runner.release()
  }
}

/** Runs a statement in a connection that the next statement may have from this one. */
export async function withNextRunner<T>(session: Session, ask: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = await takeRunner(session)
  try {
    const result = await ask(runner)
    handoverOf(session).give(runner)
    return result
  } catch (error) {
    // It may be the connection that is broken.
    await runner.release()
    throw error
  }
}

/** @throws {ConnectionError} */
async function takeRunner(session: Session): Promise<QueryRunner> {
  const { dataSource, replica, waitLimit } = session
  const { sharesConnection, hasIdle } = dialectOf(dataSource)
  // Where all share one connection, it is the lock that they wait for.
  if (sharesConnection) return newRunner(session)
  if (!hasIdle(dataSource.driver, replica === true)) return handoverOf(session).take(Math.min(waitLimit, longest))
  try {
    return await connect(session)
  } catch (cause) {
    throw new ConnectionError('the database cannot be connected to', { cause })
  }
}

const newRunner = ({ dataSource, replica }: Session): QueryRunner =>
  dataSource.createQueryRunner(replica ? 'slave' : 'master')

async function connect(session: Session): Promise<QueryRunner> {
  const runner = newRunner(session)
  await runner.connect()
  return runner
}

/** Those who wait for a replica take no place from those who wait for the primary. */
const handoverOf = (session: Session): Handover => (session.replica ? ofReplica : ofPrimary)(session.dataSource)
const ofPrimary = memoize((dataSource: DataSource) => new Handover(() => connect({ dataSource, waitLimit: 0 })))
const ofReplica = memoize(
  (dataSource: DataSource) => new Handover(() => connect({ dataSource, waitLimit: 0, replica: true })),
)

/** What timers can count to, in milliseconds. */
const longest = 2 ** 31 - 1

/** What a promise becomes, or `late`, when it takes longer than so many milliseconds. */
export async function within<T>(limit: number, work: Promise<T>, late: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, Math.min(limit, longest), late)
  })
  return Promise.race([work, waited]).finally(() => clearTimeout(timer))
}

/** Takes back what a transaction has done. A connection that cannot would do it in the name of who has it next: it is closed. */
export async function rollBack({ dataSource }: Session, runner: QueryRunner): Promise<void> {
  try {
    await runner.rollbackTransaction()
  } catch {
    dialectOf(dataSource).discard(await runner.connect())
  }
}
