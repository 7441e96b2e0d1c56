import { send } from '../client'
import { atEnd } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { describeReply, isUnavailable } from './ledger'
import { createSource, serveSite } from './site'
import { logFigures, sleep, until } from './time'

test.each([
  { name: 'PostgreSQL', start: startPostgres },
  { name: 'MariaDB', start: startMariadb },
])(
  'while $name is not running when the site starts, requests get 503; they succeed once it is running',
  async ({ name, start }) => {
    const cluster = await start()
    await cluster.stop()
    const dataSource = createSource(cluster.source)
    const site = await serveSite(dataSource, { mount: { health: true } })
    atEnd(site.close)
    const connecting = initializeWithRetries(dataSource)

    for (const line of ['GET /api/note/', 'GET /api/note/1/', 'GET /api/health/']) {
      const reply = await send(site.url, line)
      expect(describeReply(reply)).toContain('503')
      expect(isUnavailable(reply)).toBe(true)
    }
    const post = await send(site.url, 'POST /api/note/', { body: { tag: 'early' } })
    expect(isUnavailable(post)).toBe(true)

    await cluster.start()
    const accepted = performance.now()
    await connecting
    await until('a read succeeds', async () => (await send(site.url, 'GET /api/note/')).status === 200)
    logFigures(`${name} starts after the site`, { 'first success after ms': Math.round(performance.now() - accepted) })
    expect((await send(site.url, 'GET /api/health/')).status).toBe(200)
    expect((await send(site.url, 'POST /api/note/', { body: { tag: 'late' } })).status).toBe(201)
    expect((await send(site.url, 'GET /api/note/?tag=early')).json()).toMatchObject({ objects: [] })

    await cluster.stop()
    expect(isUnavailable(await send(site.url, 'GET /api/health/'))).toBe(true)
    await cluster.start()
    await until('the health check succeeds', async () => (await send(site.url, 'GET /api/health/')).status === 200)
  },
)

/** Initializes a data source as applications do whose database starts after them: until it succeeds. */
async function initializeWithRetries(dataSource: ReturnType<typeof createSource>): Promise<void> {
  while (!dataSource.isInitialized) {
    await dataSource.initialize().catch(() => sleep(200))
  }
}
