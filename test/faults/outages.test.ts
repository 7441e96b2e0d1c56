import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Season, slowSubscriberMs } from './entities'
import { describeReply, isUnavailable, Ledger, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { openSite, type Site } from './site'
import { byForm, logFigures, sleep, until } from './time'
import { firstSuccess, startTraffic } from './traffic'

/** Milliseconds of requests before and after the outage. */
const undisturbedMs = byForm({ short: 300, long: 1_500 })
const frozenMs = byForm({ short: 1_500, long: 4_000 })

/** What happens to the server; resolves when it accepts connections again. */
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
    what: 'disconnected from all clients ten times',
    happen: async (cluster) => {
      for (let time = 0; time < 10; time++) {
        await cluster.terminate()
        await sleep(30)
      }
    },
  },
  {
    what: `frozen for ${frozenMs} ms`,
    happen: async (cluster) => {
      cluster.freeze()
      await sleep(frozenMs)
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
  })

  test.each(outages)(
    '$what under 20 clients: requests succeed or get 503 with Retry-After, and no acknowledged write is lost',
    async ({ what, happen }) => {
      const { dataSource } = site
      await dataSource.query('DELETE FROM note')
      await dataSource.query('DELETE FROM memo')
      const traffic = startTraffic(site.url)
      await sleep(undisturbedMs)
      let accepted: number
      try {
        await until('a write is acknowledged', () => traffic.ledger.acknowledged.size > 0)
        await happen(cluster)
        accepted = performance.now()
        await sleep(Math.max(undisturbedMs, 1_000))
      } finally {
        await traffic.stop()
      }
      const { ledger, surprises } = traffic
      const stored = await storedTags(dataSource)
      const read = firstSuccess(traffic, 'read', accepted)
      const write = firstSuccess(traffic, 'write', accepted)
      logFigures(`${name} ${what}`, {
        acknowledged: ledger.acknowledged.size,
        lost: ledger.audit(stored).lost.length,
        'answered 503': traffic.answered.filter(({ status }) => status === 503).length,
        'answered 503 and stored': ledger.failedButStored(stored).length,
        'first read after ms': read,
        'first write after ms': write,
      })
      // Most unexpected responses are alike: some of them are printed, with the errors that the application received.
      const logged = surprises.length === 0 ? [] : messagesOf(site.faults)
      expect([...surprises.slice(0, 5), ...logged]).toEqual([])
      expect(ledger.audit(stored)).toEqual(noDifferences)
      expect(Math.max(read, write)).toBeLessThan(3_000)
    },
    60_000,
  )

  test('a connection that breaks while it is opened ends neither the process nor the site', async () => {
    const { dataSource, url } = site
    // As if the server's greeting and the message that it shuts down arrived in one packet; only pg's pool emits an event for a new
    // connection.
    const { master } = dataSource.driver as { master?: EventEmitter }
    let wasEmitted: boolean | undefined
    // Emitted after pg's own listeners were called and before TypeORM's promise is resolved.
    const emitShutdown = (client: EventEmitter): void =>
      process.nextTick(() => {
        wasEmitted = client.emit('error', new Error('terminating connection'))
      })
    master?.once('connect', emitShutdown)
    await cluster.terminate()
    await until('a read succeeds', async () => (await send(url, 'GET /api/season/1/')).status === 200)
    expect(wasEmitted).toBe(master === undefined ? undefined : true)
  })

  test('a connection that breaks before its first statement does not block requests', async () => {
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
    await until('a read succeeds', async () => (await send(url, 'GET /api/season/1/')).status === 200)
  })

  test('when a connection breaks between two statements of a transaction, the response is 503 and nothing is stored', async () => {
    const ledger = new Ledger()
    const posting = ledger.post(site.url, 'memo', 'slow')
    // The record is written, and the subscriber is running.
    await sleep(slowSubscriberMs / 2)
    await cluster.terminate()
    const reply = await posting
    expect(isUnavailable(reply) ? 'unavailable' : [describeReply(reply), ...messagesOf(site.faults)]).toBe(
      'unavailable',
    )
    expect(await storedTags(site.dataSource)).not.toContain('slow')
    expect((await ledger.post(site.url, 'memo', 'slow')).status).toBe(201)
  })
})

function messagesOf(faults: readonly unknown[]): readonly string[] {
  return [...new Set(faults.map((fault) => `fault: ${fault}`))]
}
