import { within } from '../../src/timers'
import { send } from '../client'
import { type ChildSite, startChildSite } from './child-site'
import { type Cluster, startPostgres } from './clusters'
import { Season } from './entities'
import { inOrder, Ledger } from './ledger'
import { storedTags } from './mixed-load'
import { type Nginx, startNginx } from './proxies'
import { createSource, type SourceOptions } from './site'
import { byForm, sleep, tell, until } from './time'
import { clients, startTraffic } from './traffic'

const calm = byForm({ short: 500, long: 2_000 })

let cluster: Cluster
let source: SourceOptions
beforeAll(async () => {
  cluster = await startPostgres()
  // One makes the tables, before the others start.
  const dataSource = await createSource(cluster.source).initialize()
  await dataSource.getRepository(Season).insert({ name: 'spring' })
  await dataSource.destroy()
  source = { ...cluster.source, synchronize: false }
}, 60_000)

afterEach(async () => {
  await cluster.query('DELETE FROM note')
  await cluster.query('DELETE FROM memo')
})

test('two processes by node:cluster: what one writes the other reads; one is killed, and nothing acknowledged is lost', async () => {
  const site = await startChildSite({ source, workers: 2 })
  expect((await writeAndRead(site.url)).size).toBe(2)
  await cluster.query('DELETE FROM note')
  const ledger = new Ledger()
  const [victim] = await processesOf(site.url, 1)
  let broken = 0
  const post = async (index: number): Promise<void> => {
    if (index === 50) process.kill(Number(victim), 'SIGKILL')
    const posted = ledger.post(site.url, index % 2 === 0 ? 'note' : 'memo', `${index}`).catch(() => undefined)
    // A connection that Node.js was about to give to the one that is gone is neither answered nor closed by it.
    if ((await within(2_000, posted, undefined)) === undefined) broken++
  }
  await inTurns(200, 10, post)
  await until('another takes its place', async () => {
    const processes = await processesOf(site.url, 4)
    return processes.size === 2 && !processes.has(String(victim))
  })
  tell('two processes by node:cluster, one killed', { acknowledged: ledger.acknowledged.size, broken })
  expect(ledger.audit(await stored())).toEqual(inOrder)
  expect([ledger.failed.size, ledger.refused.size]).toEqual([0, 0])
  expect(ledger.acknowledged.size + broken).toBe(200)
  expect(broken).toBeLessThan(20)
})

describe('behind nginx', () => {
  let nginx: Nginx
  let url: string
  let sites: ChildSite[]
  beforeAll(async () => {
    sites = await Promise.all([startChildSite({ source }), startChildSite({ source })])
    nginx = await startNginx(sites.map((site) => site.url))
    url = nginx.url
  }, 60_000)

  test('both answer; links and Location lead back through it, and its pages may write', async () => {
    expect([...(await writeAndRead(url))].toSorted()).toEqual(sites.map(({ pid }) => String(pid)).toSorted())
    const { meta } = (await send(url, 'GET /api/note/?limit=5')).json() as { meta: { next: string } }
    expect(meta.next).toBe('/api/note/?limit=5&page=2')
    expect((await send(url, `GET ${meta.next}`)).status).toBe(200)
    const write = async (origin: string): Promise<number> =>
      (await send(url, 'POST /api/note/', { body: { tag: origin }, headers: { Origin: origin } })).status
    expect([await write(url), await write('https://elsewhere.test')]).toEqual([201, 403])
  })

  test.each([
    {
      what: 'taken out and stopped',
      end: async ([first, second]: readonly ChildSite[]) => {
        await nginx.serve([second?.url ?? ''])
        await first?.end('SIGTERM')
      },
      mayBreak: 0,
    },
    // What was sent to it is not sent once more by nginx, where it may have been written: 502.
    { what: 'stopped', end: ([first]: readonly ChildSite[]) => first?.end('SIGTERM'), mayBreak: clients },
    { what: 'killed', end: ([first]: readonly ChildSite[]) => first?.end('SIGKILL'), mayBreak: clients },
  ])(`one that is $what under ${clients} clients: the other answers`, async ({ what, end, mayBreak }) => {
    const traffic = startTraffic(url)
    await sleep(calm)
    await end(sites)
    await sleep(calm)
    const processes = await processesOf(url, 10)
    await traffic.stop()
    const { ledger, answered, surprises } = traffic
    const broken = answered.filter(({ status }) => status === 502).length
    tell(`one of two processes behind nginx ${what}`, {
      acknowledged: ledger.acknowledged.size,
      lost: ledger.audit(await stored()).lost.length,
      'answered 502': broken,
    })
    expect([...processes]).toEqual([String(sites[1]?.pid)])
    expect(ledger.audit(await stored())).toEqual(inOrder)
    expect(surprises.filter((one) => !/^turn \d: 502/.test(one)).slice(0, 5)).toEqual([])
    expect(broken).toBeLessThanOrEqual(mayBreak)

    sites[0] = await startChildSite({ source })
    await nginx.serve(sites.map((site) => site.url))
    expect((await processesOf(url, 10)).size).toBe(2)
  })
})

/** Writes records, and reads each until both processes have shown it. @returns the processes that have written */
async function writeAndRead(url: string): Promise<ReadonlySet<string>> {
  const writers = new Set<string>()
  for (let index = 0; index < 20; index++) {
    const posted = await send(url, 'POST /api/note/', { body: { tag: `both-${index}` } })
    writers.add(String(posted.headers['x-process']))
    const { location = '' } = posted.headers
    expect(location).toMatch(/^\/api\/note\/\d+\/$/)
    const replies = [await send(url, `GET ${location}`), await send(url, `GET ${location}`)]
    expect(new Set(replies.map(({ headers }) => headers['x-process'])).size).toBe(2)
    expect(replies.map(({ text }) => text)).toEqual([posted.text, posted.text])
    expect(new Set([posted, ...replies].map(({ headers }) => headers.etag)).size).toBe(1)
  }
  return writers
}

async function processesOf(url: string, requests: number): Promise<ReadonlySet<string>> {
  const replies = await Promise.all(Array.from({ length: requests }, () => send(url, 'GET /api/season/1/')))
  return new Set(replies.map(({ headers }) => String(headers['x-process'])))
}

/** Does work so many times, by so many clients. */
async function inTurns(times: number, clients: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const client = async (): Promise<void> => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

async function stored(): Promise<readonly string[]> {
  const dataSource = await createSource(source).initialize()
  const tags = await storedTags(dataSource)
  await dataSource.destroy()
  return tags
}
