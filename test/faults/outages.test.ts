import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Season, slowness } from './entities'
import { inOrder, inWords, isUnavailable, Ledger } from './ledger'
import { storedTags } from './mixed-load'
import { openSite, type Site } from './site'
import { byForm, sleep, tell, until } from './time'
import { firstSuccess, startTraffic } from './traffic'

/** How long clients ask before and after. */
const calm = byForm({ short: 300, long: 1_500 })
const frozen = byForm({ short: 1_500, long: 4_000 })

/** What happens to a server; resolves when it accepts connections again. */
const outages: readonly { readonly what: string; readonly happen: (cluster: Cluster) => Promise<void> }[] = [
  {
    what: 'restarted',
    happen: async (cluster) => {
      await cluster.stop()
      await sleep(200)
      await cluster.start()
    },
  },
  {
    what: 'killed',
    happen: async (cluster) => {
      await cluster.kill()
      await sleep(200)
      await cluster.start()
    },
  },
  {
    what: 'parted from its connections ten times',
    happen: async (cluster) => {
      for (let time = 0; time < 10; time++) {
        await cluster.terminate()
        await sleep(30)
      }
    },
  },
  {
    what: `frozen for ${frozen} ms`,
    happen: async (cluster) => {
      cluster.freeze()
      await sleep(frozen)
      cluster.thaw()
    },
  },
]

describe.each([
  { name: 'PostgreSQL', start: startPostgres },
  { name: 'MariaDB', start: startMariadb },
])('$name', ({ name, start }) => {
  let cluster: Cluster
  let site: Site
  beforeAll(async () => {
    cluster = await start()
    site = await openSite({ source: cluster.source })
    atEnd(site.close)
    await site.dataSource.getRepository(Season).insert({ name: 'spring' })
  }, 60_000)

  test.each(outages)(
    '$what under 20 clients: success, or 503 with Retry-After, and nothing is lost',
    async ({ what, happen }) => {
      const { dataSource } = site
      await dataSource.query('DELETE FROM note')
      await dataSource.query('DELETE FROM memo')
      const traffic = startTraffic(site.url)
      await sleep(calm)
      let accepted: number
      try {
        await until('a write is acknowledged', () => traffic.ledger.acknowledged.size > 0)
        await happen(cluster)
        accepted = performance.now()
        await sleep(Math.max(calm, 1_000))
      } finally {
        await traffic.stop()
      }
      const { ledger, surprises } = traffic
      const stored = await storedTags(dataSource)
      const read = firstSuccess(traffic, 'read', accepted)
      const write = firstSuccess(traffic, 'write', accepted)
      tell(`${name} ${what}`, {
        acknowledged: ledger.acknowledged.size,
        lost: ledger.audit(stored).lost.length,
        'answered 503': traffic.answered.filter(({ status }) => status === 503).length,
        'answered 503 and stored': ledger.failedButStored(stored).length,
        'first read after ms': read,
        'first write after ms': write,
      })
      // What surprises is alike, mostly: a few say it, with what the application was told.
      const told = surprises.length === 0 ? [] : messagesOf(site.faults)
      expect([...surprises.slice(0, 5), ...told]).toEqual([])
      expect(ledger.audit(stored)).toEqual(inOrder)
      expect(Math.max(read, write)).toBeLessThan(3_000)
    },
    60_000,
  )

  test('a connection that breaks as it is made ends neither the process nor the site', async () => {
    const { dataSource, url } = site
    // As when the server's farewell comes in one piece with its welcome; only pg's pool tells of new connections.
    const { master } = dataSource.driver as { master?: EventEmitter }
    let heard: boolean | undefined
    // Behind pg, and before the promise that TypeORM waits for.
    const farewell = (client: EventEmitter): void =>
      process.nextTick(() => {
        heard = client.emit('error', new Error('terminating connection'))
      })
    master?.once('connect', farewell)
    await cluster.terminate()
    await until('the site reads', async () => (await send(url, 'GET /api/season/1/')).status === 200)
    expect(heard).toBe(master === undefined ? undefined : true)
  })

  test('a connection that breaks before its first statement holds no request up', async () => {
    const { dataSource, url } = site
    const { master } = dataSource.driver as { master?: EventEmitter }
    let broken = 0
    const breakConnection = (client: { readonly connection: { readonly stream: Socket } }): void => {
      client.connection.stream.destroy()
      broken++
    }
    master?.on('connect', breakConnection)
    try {
      await cluster.terminate()
      await Promise.all([1, 2, 3].map(() => send(url, 'GET /api/season/1/')))
    } finally {
      master?.off('connect', breakConnection)
    }
    if (master !== undefined) expect(broken).toBeGreaterThan(0)
    await until('the site reads', async () => (await send(url, 'GET /api/season/1/')).status === 200)
  })

  test('a connection that breaks between two statements of a transaction: 503, and nothing of it is stored', async () => {
    const ledger = new Ledger()
    const posting = ledger.post(site.url, 'memo', 'slow')
    // The record is written, and the subscriber at work.
    await sleep(slowness / 2)
    await cluster.terminate()
    const reply = await posting
    expect(isUnavailable(reply) ? 'unavailable' : [inWords(reply), ...messagesOf(site.faults)]).toBe('unavailable')
    expect(await storedTags(site.dataSource)).not.toContain('slow')
    expect((await ledger.post(site.url, 'memo', 'slow')).status).toBe(201)
  })
})

function messagesOf(faults: readonly unknown[]): readonly string[] {
  return [...new Set(faults.map((fault) => `fault: ${fault}`))]
}
