import { within } from '../../src/timers'
import { send } from '../client'
import { type ChildSite, startChildSite } from './child-site'
import { type Cluster, startPostgres } from './clusters'
import { Season } from './entities'
import { Ledger, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { type Nginx, startNginx } from './proxies'
import { createSource, type SourceOptions } from './site'
import { byForm, logFigures, sleep, until } from './time'
import { clients, startTraffic } from './traffic'

const undisturbedMs = byForm({ short: 500, long: 2_000 })

let cluster: Cluster
let source: SourceOptions
beforeAll(async () => {
  cluster = await startPostgres()
  // Another site creates the tables before these start.
  const dataSource = await createSource(cluster.source).initialize()
  await dataSource.getRepository(Season).insert({ name: 'spring' })
  await dataSource.destroy()
  source = { ...cluster.source, synchronize: false }
})

afterEach(async () => {
  await cluster.query('DELETE FROM note')
  await cluster.query('DELETE FROM memo')
})

test("two processes of node:cluster see each other's writes; when one is killed, no acknowledged write is lost", async () => {
  const site = await startChildSite({ source, workers: 2 })
  expect((await writeAndRead(site.url)).size).toBe(2)
  await cluster.query('DELETE FROM note')
  const ledger = new Ledger()
  const [victim] = await processesOf(site.url, 1)
  let broken = 0
  const post = async (index: number): Promise<void> => {
    if (index === 50) process.kill(Number(victim), 'SIGKILL')
    const posted = ledger.post(site.url, index % 2 === 0 ? 'note' : 'memo', `${index}`).catch(() => undefined)
    // A connection that Node.js was passing to the killed process is neither used nor closed.
    if ((await within(2_000, posted, undefined)) === undefined) broken++
  }
  await inParallel(200, 10, post)
  await until('a new process has replaced it', async () => {
    const processes = await processesOf(site.url, 4)
    return processes.size === 2 && !processes.has(String(victim))
  })
  logFigures('two processes by node:cluster, one killed', { acknowledged: ledger.acknowledged.size, broken })
  expect(ledger.audit(await stored())).toEqual(noDifferences)
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
  })

  test('both processes respond; links and Location lead through the proxy, and pages of its origin may write', async () => {
    expect([...(await writeAndRead(url))].toSorted()).toEqual(sites.map(({ pid }) => String(pid)).toSorted())
    const { meta } = (await send(url, 'GET /api/note/?limit=5')).json() as { meta: { next: string } }
    expect(meta.next).toBe('/api/note/?limit=5&page=2')
    expect((await send(url, `GET ${meta.next}`)).status).toBe(200)
    const write = async (origin: string): Promise<number> =>
      (await send(url, 'POST /api/note/', { body: { tag: origin }, headers: { Origin: origin } })).status
    expect([await write(url), await write('https://elsewhere.test')]).toEqual([201, 403])
  })

  test('a refusal that is sent before the whole body has arrived reaches the client', async () => {
    const body = JSON.stringify({ tag: 'a'.repeat(9_000_000) })
    const headers = { 'Content-Type': 'application/json' }
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${url}/api/note/`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      statuses.push(response.status)
    }
    expect(new Set(statuses)).toEqual(new Set([413]))
  })

  test.each([
    {
      what: 'removed from nginx and stopped',
      end: async ([first, second]: readonly ChildSite[]) => {
        await nginx.serve([second?.url ?? ''])
        await first?.end('SIGTERM')
      },
      mayBreak: 0,
    },
    // nginx does not repeat a request that the process may have handled: 502.
    { what: 'stopped', end: ([first]: readonly ChildSite[]) => first?.end('SIGTERM'), mayBreak: clients },
    { what: 'killed', end: ([first]: readonly ChildSite[]) => first?.end('SIGKILL'), mayBreak: clients },
  ])(`when one process is $what under ${clients} clients, the other one responds`, async ({ what, end, mayBreak }) => {
    const traffic = startTraffic(url)
    await sleep(undisturbedMs)
    await end(sites)
    await sleep(undisturbedMs)
    const processes = await processesOf(url, 10)
    await traffic.stop()
    const { ledger, answered, surprises } = traffic
    const broken = answered.filter(({ status }) => status === 502).length
    logFigures(`one of two processes behind nginx ${what}`, {
      acknowledged: ledger.acknowledged.size,
      lost: ledger.audit(await stored()).lost.length,
      'answered 502': broken,
    })
    expect([...processes]).toEqual([String(sites[1]?.pid)])
    expect(ledger.audit(await stored())).toEqual(noDifferences)
    expect(surprises.filter((one) => !/^turn \d: 502/.test(one)).slice(0, 5)).toEqual([])
    expect(broken).toBeLessThanOrEqual(mayBreak)

    sites[0] = await startChildSite({ source })
    await nginx.serve(sites.map((site) => site.url))
    expect((await processesOf(url, 10)).size).toBe(2)
  })
})

/** Writes records, and reads each until both processes have returned it. @returns the processes that have written */
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

/** Does work a number of times, with a number of clients. */
async function inParallel(times: number, clients: number, work: (index: number) => Promise<void>): Promise<void> {
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
