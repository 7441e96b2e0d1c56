import type { Server } from 'node:http'
import type { DataSource } from 'typeorm'
import { within } from '../timers'

export interface CloseOptions {
  /** How long requests may still take, in milliseconds; then they are cut off. Default: 10,000. */
  readonly timeout?: number
}

/** Milliseconds between looks for connections that have nothing more to do. */
const interval = 25
/** Milliseconds that the data source may take to close its connections after the last request. */
const patience = 1000

/**
 * Stops a site: no new connection is accepted, requests that run are finished, then the data source is closed.
 * @returns whether all were finished, and the data source closed, in time
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

/** Two signals may ask for the same. */
const closings = new WeakMap<Server, Promise<boolean>>()

async function close(server: Server, dataSource: DataSource, timeout: number): Promise<boolean> {
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)))
  // A connection that is kept alive would be waited for until its client has no more use of it.
  const idle = setInterval(() => server.closeIdleConnections(), interval)
  const isFinished = await within(timeout, closed, false)
  clearInterval(idle)
  server.closeAllConnections()
  const isClosed = await within(patience, disconnect(dataSource), false)
  return isFinished && isClosed
}

/** @returns whether it could be closed */
function disconnect(dataSource: DataSource): Promise<boolean> {
  const disconnected = dataSource.isInitialized ? dataSource.destroy() : Promise.resolve()
  return disconnected.then(
    () => true,
    () => false,
  )
}
