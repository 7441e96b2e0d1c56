import type { DataSource } from 'typeorm'
import { type Reply, send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Note, Season } from './entities'
import { describeReply, isUnavailable, Ledger, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { openSite, type Site } from './site'
import { byForm, logFigures, p99, sleep, until } from './time'

const waitLimit = 1_000
const writers = 40
const readers = byForm({ short: 20, long: 200 })

/** Requests that need no database, with their statuses. */
const databaseless: readonly (readonly [line: string, status: number, body?: string])[] = [
  ['GET /api/note/?nope=1', 400],
  ['GET /api/note/?score=many', 400],
  ['GET /nothing/at/all', 404],
  ['GET /api/nothing/', 404],
  ['GET /api/note/none/', 404],
  ['OPTIONS /api/note/', 204],
  ['POST /api/season/', 401, '{"name":"winter"}'],
  ['DELETE /api/season/1/', 401],
  ['POST /api/note/', 400, '{"tag":'],
  ['POST /api/note/', 400, '{"tag":5}'],
  ['TRACE /api/note/', 405],
]

describe.each([
  { name: 'PostgreSQL', start: startPostgres },
  { name: 'MariaDB', start: startMariadb },
])('$name', ({ name, start }) => {
  let cluster: Cluster
  let site: Site
  beforeAll(async () => {
    cluster = await start()
    site = await openSite({ source: { ...cluster.source, poolSize: 10 }, mount: { waitLimit } })
    atEnd(site.close)
    await site.dataSource.getRepository(Season).insert({ name: 'spring' })
    await site.dataSource.getRepository(Note).insert({ tag: 'held' })
  })

  test(`with a pool of 10 connections that ${writers} writers hold, reads get a response within the limit, and requests that need no database at once`, async () => {
    const { dataSource, url } = site
    const ledger = new Ledger()
    const held: Promise<number>[] = []
    const [reads, writes, quick] = await cluster.whileLocked('UPDATE note SET score = 0 WHERE id = 1', async () => {
      for (let writer = 0; writer < writers; writer++) {
        held.push(incrementInTransaction(dataSource))
      }
      await until('the pool is held', async () => (await cluster.lockWaits()) >= 10)
      return Promise.all([
        Promise.all(Array.from({ length: readers }, () => timed(send(url, 'GET /api/season/1/')))),
        Promise.all(Array.from({ length: readers }, (_, index) => timed(ledger.post(url, 'note', `${index}`)))),
        sendDatabaseless(url),
      ])
    })
    const increments = (await Promise.all(held)).reduce((sum, one) => sum + one, 0)
    await until('a read succeeds', async () => (await send(url, 'GET /api/season/1/')).status === 200)

    const stored = await storedTags(dataSource)
    logFigures(`a pool of 10 held by ${writers} writers, wait limit ${waitLimit} ms, ${name}`, {
      'reads answered 503': reads.filter(({ reply }) => reply.status === 503).length,
      'slowest ms': Math.round(Math.max(...[...reads, ...writes].map(({ took }) => took))),
      'p99 without database ms': p99(quick),
    })
    for (const { reply, took } of [...reads, ...writes]) {
      expect(reply.status < 300 || isUnavailable(reply) ? 'as it should be' : describeReply(reply)).toBe(
        'as it should be',
      )
      expect(took).toBeLessThan(waitLimit + 1_000)
    }
    // All connections were held the whole time; otherwise the test would check nothing.
    expect(reads.filter(({ reply }) => reply.status === 503).length).toBe(readers)
    expect(p99(quick)).toBeLessThan(500)
    ledger.attempted.add('held')
    expect(ledger.audit(stored)).toEqual(noDifferences)
    // A request that has timed out is not executed later.
    expect(ledger.failedButStored(stored)).toEqual([])
    expect((await dataSource.getRepository(Note).findOneByOrFail({ id: 1 })).score).toBe(increments)
    expect(increments).toBeGreaterThanOrEqual(10)
  })

  test("during many reads, which pass connections to each other, the application's own code also gets a connection", async () => {
    // A limit so long that no request is refused, even on a slow machine.
    const site = await openSite({ source: { ...cluster.source, poolSize: 10 }, mount: { waitLimit: 30_000 } })
    atEnd(site.close)
    const { dataSource, url } = site
    let answered = 0
    const read = async (): Promise<number> => {
      const { status } = await fetch(`${url}/api/season/1/`)
      answered += 1
      return status
    }
    // Opens the keep-alive connections of the clients.
    await Promise.all(Array.from({ length: 300 }, read))
    answered = 0
    const flood = Array.from({ length: 300 }, read)
    await Promise.race(flood)
    await dataSource.transaction((manager) => manager.findOneByOrFail(Season, { id: 1 }))
    const before = answered
    logFigures(`a transaction in a flood of ${flood.length} reads, ${name}`, { 'answered before': before })
    expect((await Promise.all(flood)).filter((status) => status !== 200)).toEqual([])
    expect(before).toBeLessThan(flood.length - 100)
  })

  test('while the server is frozen, requests that need no database get a response at once', async () => {
    cluster.freeze()
    let reads: readonly Promise<Timed>[]
    let quick: readonly number[]
    try {
      reads = Array.from({ length: 30 }, () => timed(send(site.url, 'GET /api/season/1/')))
      quick = await sendDatabaseless(site.url)
      await sleep(waitLimit + 300)
    } finally {
      cluster.thaw()
    }
    const answered = await Promise.all(reads)
    logFigures(`a frozen server, ${name}`, {
      'p99 without database ms': p99(quick),
      'reads answered 503': answered.filter(({ reply }) => reply.status === 503).length,
      'reads answered 200': answered.filter(({ reply }) => reply.status === 200).length,
    })
    for (const { reply } of answered) {
      expect(reply.status === 200 || isUnavailable(reply) ? 'as it should be' : describeReply(reply)).toBe(
        'as it should be',
      )
    }
    // Some requests wait for a result, the others for a connection: none longer than the limit.
    const refused = answered.filter(({ reply }) => reply.status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(Math.max(...refused.map(({ took }) => took))).toBeLessThan(waitLimit + 1_000)
    expect(p99(quick)).toBeLessThan(500)
    expect((await send(site.url, 'GET /api/season/1/')).status).toBe(200)
  })
})

/** Runs a transaction of the application, which may wait for a connection without a limit. @returns the number of increments */
async function incrementInTransaction(dataSource: DataSource): Promise<number> {
  const work = dataSource.transaction((manager) => manager.increment(Note, { id: 1 }, 'score', 1))
  return work.then(
    () => 1,
    () => 0,
  )
}

interface Timed {
  readonly reply: Reply
  readonly took: number
}

async function timed(response: Promise<Reply>): Promise<Timed> {
  const started = performance.now()
  return { reply: await response, took: performance.now() - started }
}

/** Sends the requests that need no database ten times, one after another. @returns the durations in milliseconds */
async function sendDatabaseless(url: string): Promise<readonly number[]> {
  const durations: number[] = []
  for (let round = 0; round < 10; round++) {
    for (const [line, status, body] of databaseless) {
      const headers: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' }
      const { reply, took } = await timed(send(url, line, { body, headers }))
      expect(`${line} ${reply.status}`).toBe(`${line} ${status}`)
      durations.push(took)
    }
  }
  return durations
}

test('with a pool whose timeout is shorter than the limit of the site, requests that have just begun to wait do not fail because of earlier ones', async () => {
  const cluster = await startPostgres()
  const extra = { max: 1, connectionTimeoutMillis: 300 }
  // Longer than 16 updates take on a busy machine: no request is refused because it waits too long itself.
  const site = await openSite({ source: { ...cluster.source, extra }, mount: { waitLimit: 20_000 } })
  atEnd(site.close)
  await cluster.query(
    'CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN new; END $$',
  )
  await cluster.query('CREATE TRIGGER linger BEFORE UPDATE ON note FOR EACH ROW EXECUTE FUNCTION linger()')
  await site.dataSource.getRepository(Note).insert({ tag: 'slow' })
  const end = performance.now() + 1_500
  const headers = { 'Content-Type': 'application/json' }
  const statuses = await Promise.all(
    Array.from({ length: 16 }, async (_, client) => {
      const seen: number[] = []
      for (let score = client; performance.now() < end; score += 16) {
        seen.push((await send(site.url, 'PUT /api/note/1/', { body: JSON.stringify({ score }), headers })).status)
      }
      return seen
    }),
  )
  expect(new Set(statuses.flat())).toEqual(new Set([200]))
})

test('of requests that arrive at the same time for one connection, one succeeds, and the others get 503 within the limit', async () => {
  const cluster = await startPostgres()
  let open = (): void => {}
  const gate = new Promise<null>((resolve) => {
    open = () => resolve(null)
  })
  let arrived = 0
  const site = await openSite({
    source: { ...cluster.source, extra: { max: 1 } },
    mount: { waitLimit: 300 },
    before: (app) =>
      app.use(async (context, next) => {
        if (context.get('X-Gate') !== '') {
          arrived += 1
          await gate
        }
        await next()
      }),
  })
  atEnd(site.close)
  await site.dataSource.getRepository(Note).insert({ tag: 'one' })
  const pending = await cluster.whileLocked('LOCK TABLE note IN ACCESS EXCLUSIVE MODE', async () => {
    const headers = { 'X-Gate': 'closed' }
    const reads = Array.from({ length: 3 }, () => timed(send(site.url, 'GET /api/note/1/', { headers })))
    await until('all requests have arrived', async () => arrived === 3)
    open()
    await sleep(1_500)
    return reads
  })
  const answered = await Promise.all(pending)
  expect(answered.map(({ reply }) => reply.status).sort()).toEqual([200, 503, 503])
  for (const { reply, took } of answered) if (reply.status === 503) expect(took).toBeLessThan(1_300)
})

test('a data source that is destroyed while requests wait, and initialized again, works as before', async () => {
  const cluster = await startPostgres()
  const site = await openSite({ source: { ...cluster.source, extra: { max: 1 } }, mount: { waitLimit: 5_000 } })
  atEnd(site.close)
  const { dataSource } = site
  await dataSource.getRepository(Note).insert({ tag: 'one' })
  const hold = async (): Promise<() => Promise<void>> => {
    const runner = dataSource.createQueryRunner()
    await runner.connect()
    return () => runner.release()
  }
  const release = await hold()
  const before = Array.from({ length: 6 }, () => send(site.url, 'GET /api/note/1/'))
  await sleep(100)
  const destroyed = dataSource.destroy()
  await release()
  await destroyed
  for (const reply of await Promise.all(before)) {
    expect(reply.status === 200 || isUnavailable(reply) ? 'as it should be' : describeReply(reply)).toBe(
      'as it should be',
    )
  }
  await dataSource.initialize()
  const releaseAgain = await hold()
  const pending = timed(send(site.url, 'GET /api/note/1/'))
  await sleep(100)
  await releaseAgain()
  const { reply, took } = await pending
  expect(reply.status).toBe(200)
  expect(took).toBeLessThan(2_000)
})
