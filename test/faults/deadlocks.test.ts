import { atEnd } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { Counter, Entry } from './entities'
import { inOrder, inWords, isUnavailable, Ledger } from './ledger'
import { openSite } from './site'
import { byForm, tell, until } from './time'

const posts = byForm({ short: 40, long: 400 })

test.each([
  { name: 'PostgreSQL', start: () => startPostgres(['deadlock_timeout=50ms']) },
  { name: 'MariaDB', start: () => startMariadb() },
])(
  '$name: posts that lock in opposite orders are stored with all that belongs to them, or 503',
  async ({ name, start }) => {
    const cluster = await start()
    const { dataSource, url, close } = await openSite({ source: cluster.source })
    atEnd(close)
    await dataSource.getRepository(Counter).insert([{ id: 1 }, { id: 2 }])
    const ledger = new Ledger()
    const post = (index: number): Promise<string> =>
      ledger
        .post(url, 'entry', `${index}`, { counters: index % 2 === 0 ? '1,2' : '2,1' })
        .then((reply) => (reply.status === 201 || isUnavailable(reply) ? 'as it should be' : inWords(reply)))
    const outcomes: string[] = []
    for (let first = 0; first < posts; first += 40) {
      outcomes.push(...(await Promise.all(Array.from({ length: 40 }, (_, index) => post(first + index)))))
    }

    // PostgreSQL writes its statistics a moment later.
    await until('a deadlock is counted', async () => (await cluster.deadlocks()) > 0)
    const stored = (await dataSource.getRepository(Entry).find()).map(({ tag }) => tag)
    const counters = await dataSource.getRepository(Counter).find()
    tell(`deadlocks, ${name}`, {
      deadlocks: await cluster.deadlocks(),
      acknowledged: ledger.acknowledged.size,
      'answered 503': ledger.failed.size,
      lost: ledger.audit(stored).lost.length,
    })
    expect([...new Set(outcomes)]).toEqual(['as it should be'])
    expect(ledger.audit(stored)).toEqual(inOrder)
    // The server was there all the time: it knows of each what became of it.
    expect(ledger.failedButStored(stored)).toEqual([])
    expect(counters.map(({ value }) => value)).toEqual([stored.length, stored.length])
    expect(ledger.acknowledged.size).toBeGreaterThan(0)
  },
  60_000,
)
