import { send } from '../client'
import { atEnd } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { inWords, isUnavailable } from './ledger'
import { createSource, serveSite } from './site'
import { sleep, tell, until } from './time'

test.each([
  { name: 'PostgreSQL', start: startPostgres },
  { name: 'MariaDB', start: startMariadb },
])(
  '$name that is not there at the start: 503, and success when it has come',
  async ({ name, start }) => {
    const cluster = await start()
    await cluster.stop()
    const dataSource = createSource(cluster.source)
    const site = await serveSite(dataSource, { mount: { health: true } })
    atEnd(site.close)
    const connecting = initializeInTheEnd(dataSource)

    for (const line of ['GET /api/note/', 'GET /api/note/1/', 'GET /api/health/']) {
      const reply = await send(site.url, line)
      expect(inWords(reply)).toContain('503')
      expect(isUnavailable(reply)).toBe(true)
    }
    const post = await send(site.url, 'POST /api/note/', { body: { tag: 'early' } })
    expect(isUnavailable(post)).toBe(true)

    await cluster.start()
    const accepted = performance.now()
    await connecting
    await until('the site answers', async () => (await send(site.url, 'GET /api/note/')).status === 200)
    tell(`${name} comes after the site`, { 'first success after ms': Math.round(performance.now() - accepted) })
    expect((await send(site.url, 'GET /api/health/')).status).toBe(200)
    expect((await send(site.url, 'POST /api/note/', { body: { tag: 'late' } })).status).toBe(201)
    expect((await send(site.url, 'GET /api/note/?tag=early')).json()).toMatchObject({ objects: [] })

    await cluster.stop()
    expect(isUnavailable(await send(site.url, 'GET /api/health/'))).toBe(true)
    await cluster.start()
    await until('the site is well', async () => (await send(site.url, 'GET /api/health/')).status === 200)
  },
  60_000,
)

/** What an application does whose database comes late. */
async function initializeInTheEnd(dataSource: ReturnType<typeof createSource>): Promise<void> {
  while (!dataSource.isInitialized) {
    await dataSource.initialize().catch(() => sleep(200))
  }
}
