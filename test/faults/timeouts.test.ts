import { type Reply, send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Counter, Memo, Note } from './entities'
import { describeReply, isUnavailable, Ledger } from './ledger'
import { openSite, type Site } from './site'
import { logFigures, sleep } from './time'

let postgres: Cluster
let mariadb: Cluster
beforeAll(async () => {
  ;[postgres, mariadb] = await Promise.all([startPostgres(), startMariadb(['innodb-lock-wait-timeout=1'])])
})

/** Settings that limit the time a statement may wait. */
const limits = [
  { what: 'statement_timeout (57014)', on: () => postgres, extra: { statement_timeout: 300 } },
  { what: 'lock_timeout (55P03)', on: () => postgres, extra: { options: '-c lock_timeout=300' } },
  { what: 'innodb_lock_wait_timeout (1205)', on: () => mariadb, extra: {} },
]

test.each(limits.flatMap((limit) => ['note', 'memo'].map((resource) => ({ ...limit, resource }))))(
  '$what on a PUT of a $resource gets 503, and the write is not stored later',
  async ({ what, on, extra, resource }) => {
    const site = await openOn(on(), extra)
    const row = await insertRow(site, resource)
    const started = performance.now()
    const put = (): Promise<Reply> => send(site.url, `PUT /api/${resource}/${row}/`, { body: { score: 5 } })
    const lock = `UPDATE ${resource} SET score = 1 WHERE id = ${row}`
    const replies = await on().whileLocked(lock, () => Promise.all([put(), put(), put()]))
    logFigures(`${what} on a PUT of a ${resource}`, { 'answered after ms': Math.round(performance.now() - started) })
    expect(replies.map(describeUnlessUnavailable)).toEqual(['unavailable', 'unavailable', 'unavailable'])
    // Reuses the connections: a transaction that was left open on one of them would be committed.
    for (let index = 0; index < 5; index++) {
      expect((await send(site.url, 'POST /api/memo/', { body: { tag: `later-${index}` } })).status).toBe(201)
    }
    await sleep(300)
    expect((await send(site.url, `GET /api/${resource}/${row}/`)).json()).toMatchObject({ score: 1 })
    const retried = await put()
    expect(describeReply(retried)).toContain('200')
  },
)

test('a read that exceeds statement_timeout gets 503', async () => {
  const site = await openOn(postgres, { statement_timeout: 200 })
  const lock = 'LOCK TABLE note IN ACCESS EXCLUSIVE MODE'
  const reply = await postgres.whileLocked(lock, () => send(site.url, 'GET /api/note/'))
  expect(describeUnlessUnavailable(reply)).toBe('unavailable')
  expect((await send(site.url, 'GET /api/note/')).status).toBe(200)
})

test('a write with a 503 response is not committed by another request if its ROLLBACK failed too', async () => {
  // The driver's own timeout does not cancel the statement in the server: the ROLLBACK waits for the statement, and times out as well.
  const site = await openOn(postgres, { query_timeout: 300, max: 2 })
  const ledger = new Ledger()
  const lock = 'UPDATE counter SET value = value WHERE id = 1'
  for (let round = 0; round < 3; round++) {
    const tags = ['a', 'b'].map((name) => `${round}-${name}`)
    const post = (tag: string): Promise<Reply> => ledger.post(site.url, 'entry', tag, { counters: '1' })
    const replies = await postgres.whileLocked(lock, () => Promise.all(tags.map(post)))
    expect(replies.map(describeUnlessUnavailable)).toEqual(['unavailable', 'unavailable'])
    const others = Array.from({ length: 6 }, (_, index) => ledger.post(site.url, 'memo', `${round}-other-${index}`))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 201))
  }
  await sleep(300)
  const rows = await site.dataSource.query('SELECT tag FROM entry')
  const [counter] = await site.dataSource.getRepository(Counter).find()
  logFigures('writes whose ROLLBACK failed', { 'answered 503': ledger.failed.size, 'committed later': rows.length })
  expect(rows).toEqual([])
  expect(counter?.value).toBe(0)
})

async function openOn({ source }: Cluster, extra: object): Promise<Site> {
  const site = await openSite({ source: { ...source, extra, dropSchema: true } })
  atEnd(site.close)
  await site.dataSource.getRepository(Counter).insert({ id: 1 })
  return site
}

async function insertRow({ dataSource }: Site, resource: string): Promise<number> {
  const { identifiers } = await dataSource.getRepository(resource === 'note' ? Note : Memo).insert({ tag: 'row' })
  return identifiers[0]?.['id']
}

function describeUnlessUnavailable(reply: Reply): string {
  return isUnavailable(reply) ? 'unavailable' : describeReply(reply)
}
