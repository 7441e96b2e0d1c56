import type { DataSource, QueryRunner } from 'typeorm'
import type { Principal } from '../access/rule'
import type { Trace } from '../diagnostics'
import type { TransactionSettings } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { sharedByCopies } from '../shared-state'
import { sendAs } from '../sqlite-lock/sender'
import { maxTimerMs } from '../timers'
import { type ChangeEvent, type ChangeObserver, noObserver } from './change-events'
import { ConnectionQueue } from './connection-queue'
import type { ClientWork, WorkKind } from './connection-shares'
import { poolSizeOf, replicaCountOf } from './pool-size'
import type { StatementCache } from './statement-cache'
import { turnName } from './turn-queue'

/** Settings that all sessions of a mount share. */
export interface SessionSettings {
  readonly dataSource: DataSource
  /** Maximum time that a request waits for a connection, in milliseconds. */
  readonly waitLimit: number
  /** Maximum time that a statement of this service may take, in milliseconds; Infinity for no limit. */
  readonly timeLimit: number
  /** Cache of compiled statements. */
  readonly statements: StatementCache
  /** Observes the changes of records. Default: they are not observed. */
  readonly observer?: ChangeObserver<DbTransaction>
}

/** Context in which statements run: any connection of the data source, or the connection of a transaction. */
export interface DbSession extends Required<SessionSettings> {
  /** Connection of the transaction; undefined outside of transactions. */
  readonly runner: QueryRunner | undefined
  /** Whether statements may run on a replica, which may lack the latest writes. */
  readonly replica: boolean
  /** Network address of the client of a request; empty outside of requests. */
  readonly address: string
  /** Client of a read, which is cancelled when it disconnects; undefined for work that is completed in any case. */
  readonly client: WaitingClient | undefined
  /** Costs of the request's statements so far; undefined if they are not measured. */
  readonly trace: Trace | undefined
  /** Name that replaces that of the client where clients take turns, for statements that run for several clients; or undefined. */
  readonly turnName: string | undefined
  /** Principal of the request; undefined before the access rule has returned it, and outside of requests. */
  readonly principal: Principal | undefined
  /** Settings of the database for the transactions of a request; undefined if there are none. */
  readonly settings: TransactionSettings | undefined
  /** Changes of records that the commit of the transaction will publish; undefined outside of transactions. */
  readonly changes: ChangeEvent[] | undefined
}

/** The members of a session that its request has. */
export type SessionRequest = Pick<DbSession, 'address' | 'client' | 'trace'>

/**
 * Creates a session outside of transactions. All sessions have the same properties in the same order, because V8 reads
 * such objects fastest.
 */
export function openSession(
  { dataSource, waitLimit, timeLimit, statements, observer = noObserver }: SessionSettings,
  { address = '', client, trace }: Partial<SessionRequest> = {},
): DbSession {
  return {
    dataSource,
    waitLimit,
    timeLimit,
    statements,
    observer,
    runner: undefined,
    replica: false,
    address,
    client,
    trace,
    turnName: undefined,
    principal: undefined,
    settings: undefined,
    changes: undefined,
  }
}

/** Adds the principal, and the settings of the database for it, to the session of a request. */
export function withPrincipal(
  session: DbSession,
  principal: Principal,
  settings: TransactionSettings | undefined,
): DbSession {
  const {
    dataSource,
    waitLimit,
    timeLimit,
    statements,
    observer,
    runner,
    replica,
    address,
    client,
    trace,
    turnName,
    changes,
  } = session
  return {
    dataSource,
    waitLimit,
    timeLimit,
    statements,
    observer,
    runner,
    replica,
    address,
    client,
    trace,
    turnName,
    principal,
    settings,
    changes,
  }
}

/** HTTP response that a client waits for. It is closed when the client closes its connection. */
export interface WaitingClient {
  readonly destroyed: boolean
  readonly once: (event: 'close', listener: () => void) => unknown
  readonly off: (event: 'close', listener: () => void) => unknown
}

/** Session inside a transaction. */
export type DbTransaction = DbSession & { readonly runner: QueryRunner }

/** Runs `use` on the connection of the session's transaction, or else on a new one, which is released afterwards. */
export async function withQueryRunner<T>(
  session: DbSession,
  use: (runner: QueryRunner) => Promise<T>,
  kind: WorkKind = 'read',
): Promise<T> {
  if (session.runner !== undefined) return use(session.runner)
  // If all requests share one connection, they wait for its lock, which has its own queue.
  if (dialectOf(session.dataSource).sharesConnection) {
    const runner = sendAs(session, newRunner(session))
    return use(runner).finally(() => runner.release())
  }
  const { queue, work, runner } = await acquire(session, kind)
  try {
    return await use(runner)
  } finally {
    await queue.release(work, runner)
  }
}

/** Runs a statement on a pooled connection, and passes the connection to the next waiting statement. */
export async function withPooledRunner<T>(
  session: DbSession,
  runQuery: (runner: QueryRunner) => Promise<T>,
  kind: WorkKind,
): Promise<T> {
  if (dialectOf(session.dataSource).sharesConnection) return withQueryRunner(session, runQuery)
  const { queue, work, runner } = await acquire(session, kind)
  try {
    const result = await runQuery(runner)
    queue.pass(work, runner)
    return result
  } catch (error) {
    // The connection may be broken, so it is not passed to the next statement.
    await queue.release(work, runner)
    throw error
  }
}

/** A connection of a pool that is used for work of a client. */
interface Acquired {
  readonly queue: ConnectionQueue
  readonly work: ClientWork
  readonly runner: QueryRunner
}

/** Waits for the turn of the session's client to use a connection of the pool. */
async function acquire(session: DbSession, kind: WorkKind): Promise<Acquired> {
  const queue = connectionQueueOf(session)
  const work = { client: turnName(session), kind }
  return { queue, work, runner: await queue.acquire(work, Math.min(session.waitLimit, maxTimerMs)) }
}

/** Creates a query runner, which acquires a connection when it runs its first statement. The caller releases it. */
export function newRunner({
  dataSource,
  replica,
  timeLimit,
}: Pick<DbSession, 'dataSource' | 'replica' | 'timeLimit'>): QueryRunner {
  const runner = dataSource.createQueryRunner(replica ? 'slave' : 'master')
  dialectOf(dataSource).prepareRunner(runner, timeLimit)
  return runner
}

/** Separate queues, so that statements waiting for a replica do not delay statements waiting for the primary. */
interface ConnectionQueues {
  readonly primary: ConnectionQueue
  readonly replica: ConnectionQueue
}

const connectionQueues = sharedByCopies('connectionQueues', () => new WeakMap<DataSource, ConnectionQueues>())

/**
 * Creates new queues for the pools that a data source has now. Connections requested from earlier pools, which are
 * destroyed, may never arrive.
 */
export function renewConnectionQueues({
  dataSource,
  timeLimit,
}: Pick<DbSession, 'dataSource' | 'timeLimit'>): ConnectionQueues {
  const connect = async (replica: boolean): Promise<QueryRunner> => {
    const runner = newRunner({ dataSource, replica, timeLimit })
    await runner.connect()
    return runner
  }
  const poolSize = poolSizeOf(dataSource)
  const queues = {
    primary: new ConnectionQueue(() => connect(false), poolSize),
    replica: new ConnectionQueue(() => connect(true), poolSize * replicaCountOf(dataSource)),
  }
  connectionQueues.set(dataSource, queues)
  return queues
}

function connectionQueueOf(session: DbSession): ConnectionQueue {
  const { primary, replica: replicaQueue } = connectionQueues.get(session.dataSource) ?? renewConnectionQueues(session)
  return session.replica ? replicaQueue : primary
}

/**
 * Rolls a transaction back. If this fails, closes the connection, because its open transaction would leak into the next
 * request.
 */
export async function rollBack({ dataSource }: DbSession, runner: QueryRunner): Promise<void> {
  try {
    await runner.rollbackTransaction()
  } catch {
    dialectOf(dataSource).discard(await runner.connect())
  }
}
