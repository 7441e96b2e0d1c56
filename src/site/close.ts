import type { Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { DataSource } from 'typeorm'

export interface CloseOptions {
  /** How long requests may still take, in milliseconds; then they are cut off. Default: 10,000. */
  readonly limit?: number
}

/** Milliseconds between looks for connections that have nothing more to do. */
const interval = 25
/** Milliseconds that the data source may take to close its connections after the last request. */
const patience = 1000

/**
 * Stops a site: no new connection is accepted, requests that run are finished, then the data source is closed.
 * @returns whether all were finished within the limit
 * @example
 * process.once('SIGTERM', () => closeGracefully(server, dataSource).then(() => process.exit()))
 */
export async function closeGracefully(
  server: Server,
  dataSource: DataSource,
  { limit = 10_000 }: CloseOptions = {},
): Promise<boolean> {
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)))
  // A connection that is kept alive would be waited for until its client has no more use of it.
  const idle = setInterval(() => server.closeIdleConnections(), interval)
  const isFinished = await within(limit, closed)
  clearInterval(idle)
  server.closeAllConnections()
  if (dataSource.isInitialized)
    await within(
      patience,
      dataSource.destroy().then(() => true),
    )
  return isFinished
}

async function within(limit: number, done: Promise<boolean>): Promise<boolean> {
  const timer = new AbortController()
  const late = setTimeout(limit, false, { signal: timer.signal }).catch(() => false)
  return Promise.race([done, late]).finally(() => timer.abort())
}
