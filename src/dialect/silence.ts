import { Socket } from 'node:net'
import { maxTimerMs } from '../timers'
import { hasComment, isServiceStatement } from './statement-comment'

/**
 * Time that the database has for its answer after the time limit of a statement, in milliseconds. It sends an error when it
 * enforces the limit itself.
 */
const graceMs = 5000

/** A connection to a database server, with the members of its driver that differ. */
export interface WatchedConnection {
  /** A socket of Node.js; connections over other streams, which an application can create, are not watched. */
  readonly stream: unknown
  /** SQL of the statement that the connection has sent, and whose result has not arrived; undefined if there is none. */
  readonly runningSql: () => string | undefined
  /** Cancels the running statement in the server, after its connection was destroyed. Not called for COMMIT and the like. */
  readonly cancel?: () => void
}

const watchedConnections = new WeakSet<object>()

/**
 * Destroys the socket of a connection on which the database sends nothing for longer than the time limit while it runs a
 * statement of this service: a proxy or firewall may have stopped forwarding, or the server may be frozen. All statements
 * of the connection then fail with a network error. Only rejecting the promise of the statement would be wrong: the
 * connection would return to the pool, and a write that was reported as failed could be committed by a later request.
 *
 * Statements of the application have no limit. A connection is left alone if it runs no statement, or if its socket is
 * paused because a slow client does not read the response.
 *
 * The timer is that of the socket, which restarts whenever something is sent or received: statements need none of their own.
 * @param connection the object of the driver
 * @param timeLimit of a statement, in milliseconds; Infinity for no limit
 */
export function destroyWhenSilent(connection: object, timeLimit: number, watched: WatchedConnection): void {
  const { stream, runningSql, cancel } = watched
  if (timeLimit === Number.POSITIVE_INFINITY || !(stream instanceof Socket)) return
  if (watchedConnections.has(connection)) return
  watchedConnections.add(connection)
  const limit = Math.min(timeLimit, maxTimerMs)
  const destroy = (sql: string): void => {
    const message = `the database has sent nothing for ${limit + graceMs} ms, so its connection was closed`
    stream.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }))
    if (isServiceStatement(sql)) cancel?.()
  }
  stream.setTimeout(limit)
  // The time in which the socket was paused does not count.
  stream.on('resume', () => stream.setTimeout(limit))
  stream.on('timeout', () => {
    const sql = runningSql()
    if (sql === undefined || stream.isPaused() || !isLimited(connection, sql)) return
    const { bytesRead } = stream
    const check = (): void => {
      if (stream.bytesRead === bytesRead && !stream.destroyed) destroy(sql)
    }
    // If the process was suspended, or its event loop blocked, an answer may have arrived that is not read yet. Timers run
    // before it is read, immediates afterwards.
    setTimeout(() => setImmediate(check), graceMs).unref()
  })
}

/** Connections that are in a transaction of this service. */
const ownTransactions = new WeakSet<object>()

/**
 * Gives the statements that begin and end transactions and savepoints on a connection the limit of
 * {@link destroyWhenSilent}. They do not have the comment of this service, because TypeORM sends them.
 * @returns a function to call after the transaction
 */
export function limitTransaction(connection: object): () => void {
  ownTransactions.add(connection)
  return () => ownTransactions.delete(connection)
}

/** Statements that begin and end transactions and savepoints. */
const transactionControl = /^(?:START TRANSACTION|SET TRANSACTION|SAVEPOINT|RELEASE SAVEPOINT|COMMIT|ROLLBACK)\b/

function isLimited(connection: object, sql: string): boolean {
  return hasComment(sql) || (ownTransactions.has(connection) && transactionControl.test(sql))
}
