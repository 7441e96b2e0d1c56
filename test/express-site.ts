import { once } from 'node:events'
import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import type { DataSource } from 'typeorm'
import { type MountOptions, mountResources } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from './client'

/** The service, as Node's handler of requests. */
export function handlerOf(dataSource: DataSource, options: MountOptions = {}): RequestHandler {
  const api = new Koa()
  mountResources(api, dataSource, options)
  return api.callback()
}

export type Ask = (line: string, options?: SendOptions) => Promise<Reply>

/** Serves an Express site for one test. */
export async function visit(setUp: (site: express.Express) => void, test: (ask: Ask) => Promise<void>): Promise<void> {
  const site = express()
  setUp(site)
  const server = site.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  try {
    await test((line, options) => send(`http://127.0.0.1:${port}`, line, options))
  } finally {
    server.close()
  }
}
