import { Agent, createServer, get, type Server } from 'node:http'
import Koa from 'koa'
import { type DataSource, EntitySchema } from 'typeorm'
import { closeGracefully, mountResources } from 'typeorm-resources'
import { listen } from './support/listen'
import { openDataSource } from './world/world'

const Thing = new EntitySchema({ name: 'Thing', columns: { id: { type: Number, primary: true, generated: true } } })

/** Opens a site whose responses take the given time. */
async function open(milliseconds: number): Promise<{ server: Server; dataSource: DataSource; url: string }> {
  const dataSource = await openDataSource([Thing])
  const app = new Koa()
  app.use(async (_, next) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds).unref())
    await next()
  })
  mountResources(app, dataSource, { resources: [{ entity: Thing }] })
  const server = createServer(app.callback())
  return { server, dataSource, url: `${await listen(server)}/api/thing/` }
}

const fetchStatus = (url: string, agent: Agent): Promise<number | string> =>
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

test('a graceful shutdown finishes running requests, closes idle keep-alive connections, and then destroys the data source', async () => {
  const { server, dataSource, url } = await open(1000)
  const agent = keepAlive()
  const requests = Array.from({ length: 100 }, () => fetchStatus(url, agent))
  // Requests that have not reached the service are not handled: Node resets their connection.
  let come = 0
  await new Promise<void>((resolve) => server.on('request', () => ++come === requests.length && resolve()))
  const start = performance.now()
  const closing = closeGracefully(server, dataSource)
  expect(closeGracefully(server, dataSource)).toBe(closing)
  expect(await fetchStatus(url, keepAlive())).toBe('ECONNREFUSED')
  expect(new Set(await Promise.all(requests))).toEqual(new Set([200]))
  expect(await closing).toBe(true)
  expect(performance.now() - start).toBeLessThan(4000)
  expect(dataSource.isInitialized).toBe(false)
})

test('requests that take longer than the limit are aborted', async () => {
  const { server, dataSource, url } = await open(60_000)
  const hanging = fetchStatus(url, keepAlive())
  await new Promise((resolve) => server.once('request', resolve))
  expect(await closeGracefully(server, dataSource, { timeout: 100 })).toBe(false)
  expect(await hanging).toBe('ECONNRESET')
  expect(dataSource.isInitialized).toBe(false)
})
