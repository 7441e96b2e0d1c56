import type { DataSource } from 'typeorm'
import type { Reply } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Counter, Entry, Season } from './entities'
import { describeReply, isUnavailable, Ledger, noDifferences } from './ledger'
import { openSite, type Site } from './site'
import { byForm, logFigures, until } from './time'

const posts = byForm({ short: 40, long: 400 })
const parallel = 40

describe.each([
  {
    name: 'PostgreSQL',
    start: () => startPostgres(['deadlock_timeout=50ms']),
    // PostgreSQL aborts the transaction that first checks for a deadlock: that of the site, since the other session checks much later.
    yielding: "SET deadlock_timeout = '1min'",
    // PostgreSQL does not grant locks of records in order: the repetition could lock the first counter before the other session,
    // and cause a second deadlock.
    lockAll: ['LOCK TABLE counter IN SHARE ROW EXCLUSIVE MODE'],
    extra: { options: '-c deadlock_timeout=1s' },
  },
  {
    name: 'MariaDB',
    start: () => startMariadb(),
    // MariaDB aborts the transaction that has changed fewer rows.
    yielding: 'UPDATE season SET name = upper(name)',
    lockAll: [],
    extra: {},
  },
])('$name', ({ name, start, yielding, lockAll, extra: slowCheck }) => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await start()
  })

  const open = async (extra: object): Promise<Site> => {
    const site = await openSite({ source: { ...cluster.source, extra, dropSchema: true } })
    atEnd(site.close)
    await site.dataSource.getRepository(Counter).insert([{ id: 1 }, { id: 2 }])
    return site
  }

  test(`of ${posts} posts that lock rows in opposite orders, each is stored completely or responds with 503`, async () => {
    const { dataSource, url } = await open({})
    const ledger = new Ledger()
    const post = (index: number): Promise<Reply> =>
      ledger.post(url, 'entry', `${index}`, { counters: index % 2 === 0 ? '1,2' : '2,1' })
    const replies: Reply[] = []
    while (replies.length < posts) {
      const some = Array.from({ length: parallel }, (_, index) => post(replies.length + index))
      replies.push(...(await Promise.all(some)))
    }

    const deadlocks = await cluster.deadlocks()
    const stored = await entriesOf(dataSource)
    logFigures(`deadlocks, ${name}`, {
      deadlocks,
      acknowledged: ledger.acknowledged.size,
      'answered 503': ledger.failed.size,
      lost: ledger.audit(stored).lost.length,
    })
    expect(replies.filter((reply) => reply.status !== 201 && !isUnavailable(reply)).map(describeReply)).toEqual([])
    expect(ledger.audit(stored)).toEqual(noDifferences)
    // The server was available all the time, so that the result of each transaction is known.
    expect(ledger.failedButStored(stored)).toEqual([])
    expect(await countersOf(dataSource)).toEqual([stored.length, stored.length])
    expect(ledger.acknowledged.size).toBeGreaterThan(0)
    // Otherwise the test would check nothing.
    expect(deadlocks).toBeGreaterThan(0)
  })

  test('a post that is aborted by a deadlock is tried once more, as a whole', async () => {
    const { dataSource, url } = await open(slowCheck)
    await dataSource.getRepository(Season).insert(Array.from({ length: 100 }, (_, index) => ({ name: `s${index}` })))
    const deadlocks = await cluster.deadlocks()
    const ledger = new Ledger()
    let posting: Promise<Reply> | undefined
    await cluster.whileLocked(yielding, async (query) => {
      await query('UPDATE counter SET value = value + 10 WHERE id = 2')
      posting = ledger.post(url, 'entry', 'retried', { counters: '1,2' })
      await until(
        'the post has locked the first counter, and waits for the second',
        async () => (await cluster.lockWaits()) > 0,
      )
      for (const statement of [...lockAll, 'UPDATE counter SET value = value + 10 WHERE id = 1']) await query(statement)
    })
    expect((await posting)?.status).toBe(201)
    expect(await cluster.deadlocks()).toBe(deadlocks + 1)
    expect(await entriesOf(dataSource)).toEqual(['retried'])
    expect(await countersOf(dataSource)).toEqual([11, 11])
  })
})

test('a post that fails with a serialization failure is tried once more, as a whole', async () => {
  const cluster = await startPostgres(['default_transaction_isolation=repeatable read'])
  const { dataSource, url, close } = await openSite({ source: cluster.source })
  atEnd(close)
  await dataSource.getRepository(Counter).insert({ id: 1 })
  const ledger = new Ledger()
  let posting: Promise<Reply> | undefined
  await cluster.whileLocked('UPDATE counter SET value = value + 10 WHERE id = 1', async () => {
    posting = ledger.post(url, 'entry', 'retried', { counters: '1' })
    await until('the post waits for the counter', async () => (await cluster.lockWaits()) > 0)
  })
  expect((await posting)?.status).toBe(201)
  expect(await entriesOf(dataSource)).toEqual(['retried'])
  expect(await countersOf(dataSource)).toEqual([11])
})

async function entriesOf(dataSource: DataSource): Promise<readonly string[]> {
  return (await dataSource.getRepository(Entry).find()).map(({ tag }) => tag)
}

async function countersOf(dataSource: DataSource): Promise<readonly number[]> {
  const counters = await dataSource.getRepository(Counter).find({ order: { id: 'ASC' } })
  return counters.map(({ value }) => value)
}
