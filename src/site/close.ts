import type { Server } from 'node:http'
import type { DataSource } from 'typeorm'
import { changeFeedOf } from '../connection/change-feed'
import { within } from '../timers'

export interface CloseOptions {
  /** Time for running requests to finish, in milliseconds; then their connections are closed. Default: 10,000. */
  readonly timeout?: number
}

/** Interval at which idle connections are closed, in milliseconds. */
const idleCheckInterval = 25
/** Time for the data source to close its connections after the last request, in milliseconds. */
const disconnectTimeout = 1000

/**
 * Shuts a server down: accepts no new connections, waits for running requests, then closes the data source. A second
 * call for the same server returns the promise of the first one.
 * @returns whether all requests were finished and the data source was closed in time
 * @example
 * process.once('SIGTERM', () => closeGracefully(server, dataSource).then(() => process.exit()))
 */
export function closeGracefully(
  server: Server,
  dataSource: DataSource,
  { timeout = 10_000 }: CloseOptions = {},
): Promise<boolean> {
  const closing = closings.get(server) ?? close(server, dataSource, timeout)
  closings.set(server, closing)
  return closing
}

/** Shutdowns by server, because a process may receive two signals. */
const closings = new WeakMap<Server, Promise<boolean>>()

async function close(server: Server, dataSource: DataSource, timeout: number): Promise<boolean> {
  // Ends the live lists, whose responses would otherwise never finish.
  changeFeedOf(dataSource).end()
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)))
  // `close()` also waits for idle keep-alive connections, which clients may keep open for long.
  const idleTimer = setInterval(() => server.closeIdleConnections(), idleCheckInterval)
  const isFinished = await within(timeout, closed, false)
  clearInterval(idleTimer)
  server.closeAllConnections()
  const isClosed = await within(disconnectTimeout, disconnect(dataSource), false)
  return isFinished && isClosed
}

/** Closes the data source. @returns whether it succeeded */
function disconnect(dataSource: DataSource): Promise<boolean> {
  const disconnected = dataSource.isInitialized ? dataSource.destroy() : Promise.resolve()
  return disconnected.then(
    () => true,
    () => false,
  )
}
