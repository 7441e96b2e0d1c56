import { createServer } from 'node:http'
import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import type { DataSource } from 'typeorm'
import { type MountOptions, mountResources } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from './client'
import { listen } from './support/listen'

/** The service as a request handler for Node.js. */
export function handlerOf(dataSource: DataSource, options: MountOptions = {}): RequestHandler {
  const api = new Koa()
  mountResources(api, dataSource, options)
  return api.callback()
}

/** Sends a request to the site, such as `GET /api/note/`. */
export type Request = (line: string, options?: SendOptions) => Promise<Reply>

/** Runs a test against an Express site, which is closed afterwards. */
export async function withExpress(
  setUp: (site: express.Express) => void,
  test: (request: Request) => Promise<void>,
): Promise<void> {
  const site = express()
  setUp(site)
  const server = createServer(site)
  const url = await listen(server)
  try {
    await test((line, options) => send(url, line, options))
  } finally {
    server.close()
  }
}
