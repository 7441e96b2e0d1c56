import type { DataSource, QueryRunner } from 'typeorm'
import type { Trace } from '../diagnostics'
import { dialectOf } from './dialect-of'
import { Handover } from './handover'
import type { StatementCache } from './statement-cache'

/** Where statements run: anywhere in the data source, or in the one connection of a transaction. */
export interface Session {
  readonly dataSource: DataSource
  /** How long to wait for a connection, in milliseconds. */
  readonly waitLimit: number
  /** How long a statement of this service may take, in milliseconds; Infinity for no limit. */
  readonly timeLimit: number
  /** Compiled statements. */
  readonly statements: StatementCache
  readonly runner?: QueryRunner
  /** Whether a replica may answer, which may be behind; where there is none, the primary does. */
  readonly replica?: boolean
  /** The client that waits for what is read; undefined where the work is done even if the client has gone. */
  readonly client?: WaitingClient
  /** What the statements of a request have cost; undefined when nobody wants to know. */
  readonly trace?: Trace
}

/** The connection of a client to this service. */
export interface WaitingClient {
  readonly hasGone: () => boolean
  /** Calls the listener when the client closes its connection. @returns removes the listener */
  readonly onGone: (listener: () => void) => () => void
}

/** A session inside a transaction. */
export type Transaction = Session & Required<Pick<Session, 'runner'>>

/** Does work in the session's connection, or in one of its own that is given back afterwards. */
export async function withRunner<T>(session: Session, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  if (session.runner !== undefined) return work(session.runner)
  // Where all share one connection, it is the lock that they wait for.
  const runner = dialectOf(session.dataSource).sharesConnection
    ? newRunner(session)
    : await handoverOf(session).take(limitOf(session))
  try {
    return await work(runner)
  } finally {
    await runner.release()
  }
}

/** Runs a statement in a connection that the next statement may have from this one. */
export async function withNextRunner<T>(session: Session, ask: (runner: QueryRunner) => Promise<T>): Promise<T> {
  if (dialectOf(session.dataSource).sharesConnection) return withRunner(session, ask)
  const handover = handoverOf(session)
  const runner = await handover.take(limitOf(session))
  try {
    const result = await ask(runner)
    handover.give(runner)
    return result
  } catch (error) {
    // It may be the connection that is broken.
    await runner.release()
    throw error
  }
}

const limitOf = ({ waitLimit }: Session): number => Math.min(waitLimit, longest)

function newRunner({
  dataSource,
  replica,
  timeLimit,
}: Pick<Session, 'dataSource' | 'replica' | 'timeLimit'>): QueryRunner {
  const runner = dataSource.createQueryRunner(replica ? 'slave' : 'master')
  dialectOf(dataSource).prepareRunner(runner, timeLimit)
  return runner
}

/** Those who wait for a replica take no place from those who wait for the primary. */
interface Handovers {
  readonly primary: Handover
  readonly replica: Handover
}

const handovers = new WeakMap<DataSource, Handovers>()

/** Those who wait for the pools that a data source has from now on: what was asked of those of before may never come. */
export function renewHandovers({ dataSource, timeLimit }: Pick<Session, 'dataSource' | 'timeLimit'>): Handovers {
  const connect = async (replica: boolean): Promise<QueryRunner> => {
    const runner = newRunner({ dataSource, replica, timeLimit })
    await runner.connect()
    return runner
  }
  const renewed = { primary: new Handover(() => connect(false)), replica: new Handover(() => connect(true)) }
  handovers.set(dataSource, renewed)
  return renewed
}

function handoverOf(session: Session): Handover {
  const { primary, replica: ofReplica } = handovers.get(session.dataSource) ?? renewHandovers(session)
  return session.replica ? ofReplica : primary
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
