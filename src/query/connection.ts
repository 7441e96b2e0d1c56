import type { DataSource, QueryRunner } from 'typeorm'
import type { Trace } from '../diagnostics'
import { dialectOf } from './dialect-of'

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
  const runner = session.dataSource.createQueryRunner(session.replica ? 'slave' : 'master')
  await connect(session, runner)
  try {
    return await work(runner)
  } finally {
    await runner.release()
  }
}

/** No connection was to be had. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** More are told at once: each that waits takes memory. */
const mostWaiting = 1000
/** Those who wait for a replica take no place from those who wait for the primary. */
const waitingFor = { primary: new WeakMap<DataSource, number>(), replica: new WeakMap<DataSource, number>() }

/** Pools have their clients wait for ever, unless they are told otherwise. @throws {ConnectionError} */
async function connect({ dataSource, waitLimit, replica }: Session, runner: QueryRunner): Promise<void> {
  // Where all share one connection, it is the lock that they wait for.
  if (dialectOf(dataSource).sharesConnection) return
  if (dialectOf(dataSource).hasIdle(dataSource.driver, replica === true)) {
    await connectOnce(runner)
    return
  }
  const waiting = waitingFor[replica ? 'replica' : 'primary']
  const count = waiting.get(dataSource) ?? 0
  if (count >= mostWaiting) throw new ConnectionError(`${mostWaiting} wait for a connection already`)
  waiting.set(dataSource, count + 1)
  const connected = connectOnce(runner).finally(() => waiting.set(dataSource, (waiting.get(dataSource) ?? 1) - 1))
  if (await within(waitLimit, connected, false)) return
  // It may come yet.
  connected.then(() => runner.release()).catch(() => undefined)
  throw new ConnectionError(`no connection was free for ${waitLimit} ms`)
}

async function connectOnce(runner: QueryRunner): Promise<boolean> {
  try {
    await runner.connect()
    return true
  } catch (cause) {
    throw new ConnectionError('the database cannot be connected to', { cause })
  }
}

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
