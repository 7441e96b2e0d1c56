import type { EventEmitter } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { DataSource } from 'typeorm'
import { changeFeedOf } from '../connection/change-feed'
import { within } from '../timers'
import { isSending } from './connections'

export interface CloseOptions {
  /** Time for running requests to finish, in milliseconds; then their connections are closed. Default: 10,000. */
  readonly timeout?: number
}

/** Interval at which idle connections are closed, in milliseconds. */
const idleCheckInterval = 25
/** Time for the data source to close its connections after the last request, in milliseconds. */
const disconnectTimeout = 1000

/** A server of HTTP/1.1 or HTTP/2. Node.js has no functions to close the connections of an HTTP/2 server. */
export type ClosableServer = { readonly close: (onClosed: () => void) => unknown } & Partial<
  Pick<Server, 'closeIdleConnections' | 'closeAllConnections'> & Pick<EventEmitter, 'prependListener'>
>

/**
 * Shuts a server down: accepts no new connections, waits for running requests, then closes the data source. A second
 * call for the same server and data source returns the promise of the first one. If a server has several data sources, or
 * a data source several servers, call it for all of them before the first promise is awaited: each data source is closed
 * after the requests of all its servers.
 * @returns whether all requests were finished and the data source was closed in time
 * @example
 * process.once('SIGTERM', () => closeGracefully(server, dataSource).then(() => process.exit()))
 */
export function closeGracefully(
  server: ClosableServer,
  dataSource: DataSource,
  { timeout = 10_000 }: CloseOptions = {},
): Promise<boolean> {
  const ofDataSource = closings.get(dataSource) ?? new Map<ClosableServer, Promise<boolean>>()
  closings.set(dataSource, ofDataSource)
  const closing = ofDataSource.get(server) ?? close(server, dataSource, timeout)
  ofDataSource.set(server, closing)
  return closing
}

/** Shutdowns by data source and server, because a process may receive two signals. */
const closings = new WeakMap<DataSource, Map<ClosableServer, Promise<boolean>>>()

async function close(server: ClosableServer, dataSource: DataSource, timeout: number): Promise<boolean> {
  // Ends the live lists, whose responses would otherwise never finish.
  changeFeedOf(dataSource).end()
  const isFinished = await finish(server, timeout)
  // Requests of other servers may need the data source.
  await Promise.all([...(closings.get(dataSource)?.keys() ?? [])].map((other) => finishings.get(other)))
  const isClosed = await within(disconnectTimeout, disconnect(dataSource), false)
  return isFinished && isClosed
}

/** Servers that accept no new connections, with whether all their requests were finished. */
const finishings = new WeakMap<ClosableServer, Promise<boolean>>()

/** Stops a server, which may have several data sources. @returns whether all requests were finished */
function finish(server: ClosableServer, timeout: number): Promise<boolean> {
  const finishing = finishings.get(server) ?? stop(server, timeout)
  finishings.set(server, finishing)
  return finishing
}

async function stop(server: ClosableServer, timeout: number): Promise<boolean> {
  server.prependListener?.('request', endConnection)
  keepSendingConnections(server)
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)))
  // `close()` also waits for idle keep-alive connections, which clients may keep open for long.
  const idleTimer = setInterval(() => server.closeIdleConnections?.(), idleCheckInterval)
  const isFinished = await within(timeout, closed, false)
  clearInterval(idleTimer)
  server.closeAllConnections?.()
  return isFinished
}

/** Lets a client send no further request on its connection. Responses of HTTP/2 must not have this header. */
function endConnection({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  if (httpVersionMajor === 1) response.setHeader('Connection', 'close')
}

/**
 * Keeps the connections of a server open while a client receives a response. For `closeIdleConnections()`, which `close()` of
 * a server calls too, a connection is idle as soon as its response has ended, and what the client has not received is lost.
 */
function keepSendingConnections(server: ClosableServer): void {
  const closeIdle = server.closeIdleConnections?.bind(server)
  if (closeIdle === undefined) return
  server.closeIdleConnections = () => {
    if (!isSending(server)) closeIdle()
  }
}

/** Data sources that are being closed. TypeORM would close the connections twice. */
const disconnections = new WeakMap<DataSource, Promise<boolean>>()

/** Closes the data source. @returns whether it succeeded */
async function disconnect(dataSource: DataSource): Promise<boolean> {
  if (!dataSource.isInitialized) return true
  const running =
    disconnections.get(dataSource) ??
    dataSource.destroy().then(
      () => true,
      () => false,
    )
  disconnections.set(dataSource, running)
  return running.finally(() => disconnections.delete(dataSource))
}
