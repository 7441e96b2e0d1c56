import type { DataSource, QueryRunner } from 'typeorm'
import type { Trace } from '../diagnostics'
import { dialectOf } from '../dialect/dialect-of'
import { maxTimerMs } from '../timers'
import { ConnectionQueue } from './connection-queue'
import type { StatementCache } from './statement-cache'

/** What all sessions of a mount share. */
export interface SessionSettings {
  readonly dataSource: DataSource
  /** How long a request waits for a connection, in milliseconds. */
  readonly waitLimit: number
  /** How long a statement of this service may take, in milliseconds; Infinity for no limit. */
  readonly timeLimit: number
  /** Compiled statements. */
  readonly statements: StatementCache
}

/** Where the statements of a request run: on any connection of the data source, or on the connection of a transaction. */
export interface DbSession extends SessionSettings {
  /** The connection of a transaction. */
  readonly runner: QueryRunner | undefined
  /** Whether statements may run on a replica, which may lack the latest writes. */
  readonly replica: boolean
  /** The client that waits for the result of reading; undefined if the work is done even if the client disconnects. */
  readonly client: WaitingClient | undefined
  /** What the statements of a request have cost; undefined if nothing is measured. */
  readonly trace: Trace | undefined
}

/** Creates a session outside of transactions. All have the same properties in the same order, which V8 reads fastest. */
export function openSession(
  { dataSource, waitLimit, timeLimit, statements }: SessionSettings,
  client?: WaitingClient,
  trace?: Trace,
): DbSession {
  return { dataSource, waitLimit, timeLimit, statements, runner: undefined, replica: false, client, trace }
}

/** The HTTP response that a client waits for. It is closed when the client closes its connection. */
export interface WaitingClient {
  readonly destroyed: boolean
  readonly once: (event: 'close', listener: () => void) => unknown
  readonly off: (event: 'close', listener: () => void) => unknown
}

/** A session inside a transaction. */
export type DbTransaction = DbSession & { readonly runner: QueryRunner }

/** Does work in the session's connection, or in one of its own that is given back afterwards. */
export async function withQueryRunner<T>(session: DbSession, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  if (session.runner !== undefined) return work(session.runner)
  // Where all share one connection, it is the lock that they wait for.
  const runner = dialectOf(session.dataSource).sharesConnection
    ? newRunner(session)
    : await connectionQueueOf(session).take(limitOf(session))
  try {
    return await work(runner)
  } finally {
    await runner.release()
  }
}

/** Runs a statement in a connection that the next statement may have from this one. */
export async function withPooledRunner<T>(session: DbSession, ask: (runner: QueryRunner) => Promise<T>): Promise<T> {
  if (dialectOf(session.dataSource).sharesConnection) return withQueryRunner(session, ask)
  const handover = connectionQueueOf(session)
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

const limitOf = ({ waitLimit }: DbSession): number => Math.min(waitLimit, maxTimerMs)

function newRunner({
  dataSource,
  replica,
  timeLimit,
}: Pick<DbSession, 'dataSource' | 'replica' | 'timeLimit'>): QueryRunner {
  const runner = dataSource.createQueryRunner(replica ? 'slave' : 'master')
  dialectOf(dataSource).prepareRunner(runner, timeLimit)
  return runner
}

/** Those who wait for a replica take no place from those who wait for the primary. */
interface ConnectionQueues {
  readonly primary: ConnectionQueue
  readonly replica: ConnectionQueue
}

const connectionQueues = new WeakMap<DataSource, ConnectionQueues>()

/** Those who wait for the pools that a data source has from now on: what was asked of those of before may never come. */
export function renewConnectionQueues({
  dataSource,
  timeLimit,
}: Pick<DbSession, 'dataSource' | 'timeLimit'>): ConnectionQueues {
  const connect = async (replica: boolean): Promise<QueryRunner> => {
    const runner = newRunner({ dataSource, replica, timeLimit })
    await runner.connect()
    return runner
  }
  const renewed = {
    primary: new ConnectionQueue(() => connect(false)),
    replica: new ConnectionQueue(() => connect(true)),
  }
  connectionQueues.set(dataSource, renewed)
  return renewed
}

function connectionQueueOf(session: DbSession): ConnectionQueue {
  const { primary, replica: ofReplica } = connectionQueues.get(session.dataSource) ?? renewConnectionQueues(session)
  return session.replica ? ofReplica : primary
}

/** Takes back what a transaction has done. A connection that cannot would do it in the name of who has it next: it is closed. */
export async function rollBack({ dataSource }: DbSession, runner: QueryRunner): Promise<void> {
  try {
    await runner.rollbackTransaction()
  } catch {
    dialectOf(dataSource).discard(await runner.connect())
  }
}
