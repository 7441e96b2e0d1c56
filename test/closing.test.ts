import { Agent, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { type DataSource, EntitySchema } from 'typeorm'
import { closeGracefully, mountResources } from 'typeorm-resources'
import { openDataSource } from './world/world'

const Thing = new EntitySchema({ name: 'Thing', columns: { id: { type: Number, primary: true, generated: true } } })

/** A site whose answers take a while. */
async function open(milliseconds: number): Promise<{ server: Server; dataSource: DataSource; url: string }> {
  const dataSource = await openDataSource([Thing])
  const app = new Koa()
  app.use(async (_, next) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds).unref())
    await next()
  })
  mountResources(app, dataSource, { resources: [{ entity: Thing }] })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { server, dataSource, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/thing/` }
}

const ask = (url: string, agent: Agent): Promise<number | string> =>
  new Promise((resolve) => {
    get(url, { agent }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

const agents: Agent[] = []
const keepAlive = (): Agent => {
  const agent = new Agent({ keepAlive: true })
  agents.push(agent)
  return agent
}
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
})

test('what runs is finished, connections that are kept alive hold nothing up, then the data source is closed', async () => {
  const { server, dataSource, url } = await open(1000)
  const agent = keepAlive()
  const requests = Array.from({ length: 100 }, () => ask(url, agent))
  // What has not come as far as the service does not run: Node resets its connection.
  let come = 0
  await new Promise<void>((resolve) => server.on('request', () => ++come === requests.length && resolve()))
  const start = performance.now()
  const closing = closeGracefully(server, dataSource)
  expect(closeGracefully(server, dataSource)).toBe(closing)
  expect(await ask(url, keepAlive())).toBe('ECONNREFUSED')
  expect(new Set(await Promise.all(requests))).toEqual(new Set([200]))
  expect(await closing).toBe(true)
  expect(performance.now() - start).toBeLessThan(4000)
  expect(dataSource.isInitialized).toBe(false)
})

test('what does not end is cut off at the limit', async () => {
  const { server, dataSource, url } = await open(60_000)
  const hanging = ask(url, keepAlive())
  await new Promise((resolve) => server.once('request', resolve))
  expect(await closeGracefully(server, dataSource, { timeout: 100 })).toBe(false)
  expect(await hanging).toBe('ECONNRESET')
  expect(dataSource.isInitialized).toBe(false)
})
