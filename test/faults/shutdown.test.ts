import { join } from 'node:path'
import { send } from '../client'
import { startChildSite } from './child-site'
import { temporaryDirectory } from './cleanup'
import { startPostgres } from './clusters'
import { Ledger, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { createSource, type SourceOptions } from './site'
import { logFigures, until } from './time'

const requests = 100

describe.each([
  {
    name: 'SQLite',
    open: async (): Promise<SourceOptions> => ({
      type: 'better-sqlite3',
      database: join(temporaryDirectory(), 'site'),
    }),
  },
  { name: 'PostgreSQL', open: async (): Promise<SourceOptions> => (await startPostgres()).source },
])('$name', ({ name, open }) => {
  test(`on SIGTERM with ${requests} requests in flight, all get a response, then the process exits`, async () => {
    const source = await open()
    const site = await startChildSite({ source, slow: 300, closing: { timeout: 10_000 } })
    const ledger = new Ledger()
    const pending = Array.from({ length: requests }, (_, index) =>
      ledger.post(site.url, index % 2 === 0 ? 'note' : 'memo', `${index}`),
    )
    await until('all are in flight', () => site.news.running === requests)
    const started = performance.now()
    const ended = site.end('SIGTERM')
    const replies = await Promise.all(pending)
    const late = send(site.url, 'GET /api/note/').then(
      () => 'accepted',
      () => 'refused',
    )
    const exit = await ended
    logFigures(`SIGTERM under ${requests} requests, ${name}`, {
      completed: replies.filter(({ status }) => status === 201).length,
      'ended after ms': Math.round(performance.now() - started),
    })
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: requests }, () => 201))
    expect(ledger.audit(await storedIn(source))).toEqual(noDifferences)
    expect(site.news.closed).toEqual({ isDone: true, isInitialized: false })
    expect(exit).toBe(0)
    expect(await late).toBe('refused')
    expect(site.errors()).toBe('')
  })
})

test('a request that never ends is aborted after the limit, so that the process exits', async () => {
  const source = { type: 'better-sqlite3', database: ':memory:' }
  const site = await startChildSite({ source, closing: { timeout: 500 } })
  const hanging = send(site.url, 'GET /hang').then(
    ({ status }) => `answered ${status}`,
    () => 'broken off',
  )
  await until('it hangs', () => site.news.running === 1)
  const started = performance.now()
  await site.end('SIGTERM')
  const took = Math.round(performance.now() - started)
  logFigures('SIGTERM under a request that hangs, limit 500 ms', { 'ended after ms': took })
  expect(await hanging).toBe('broken off')
  expect(site.news.closed?.isInitialized).toBe(false)
  expect(took).toBeGreaterThanOrEqual(400)
  expect(took).toBeLessThan(3_000)
})

test('idle keep-alive connections do not keep the process running', async () => {
  const { Agent, get } = await import('node:http')
  const site = await startChildSite({
    source: { type: 'better-sqlite3', database: ':memory:' },
    closing: { timeout: 10_000 },
  })
  const agent = new Agent({ keepAlive: true })
  await new Promise((resolve, reject) => {
    get(`${site.url}/api/note/`, { agent }, (incoming) => incoming.resume().on('end', resolve)).on('error', reject)
  })
  const started = performance.now()
  expect(await site.end('SIGTERM')).toBe(0)
  expect(performance.now() - started).toBeLessThan(3_000)
  agent.destroy()
})

/** Reads what is stored after the process has ended. */
async function storedIn(source: SourceOptions): Promise<readonly string[]> {
  const dataSource = await createSource(source).initialize()
  const tags = await storedTags(dataSource)
  await dataSource.destroy()
  return tags
}
