import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reply } from '../client'
import { startChildSite } from './child-site'
import { atEnd, mountMemory, temporaryDirectory } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { parcelHold } from './entities'
import { describeReply, isUnavailable } from './ledger'
import {
  type ManyWrite,
  type Mark,
  manyWrites,
  openPackedRecords,
  type PackedRecords,
  type PackedResource,
  tagOf,
} from './many-records'
import { openSite, type Site, type SourceOptions } from './site'
import { byForm, until } from './time'

/** Requests that write 1,000 records, and batches, while something fails: everything is written or nothing, as the response says. */

// Longer than the test may take on a busy machine.
const mount = { batch: true, waitLimit: 60_000, limits: { bulkTime: 180_000 } } as const
const disk = mountMemory(8_388_608)
let lastPack = 0

/** A request, and the records that it writes. */
interface Attempt {
  readonly write: ManyWrite
  readonly resource: PackedResource
  readonly pack: number
}

async function prepareAll(
  records: PackedRecords,
  resource: PackedResource,
  mark: Mark,
  writes: readonly ManyWrite[] = manyWrites,
): Promise<readonly Attempt[]> {
  const attempts = writes.map((write) => ({ write, resource, pack: ++lastPack }))
  for (const { write, pack } of attempts) await records.prepare(write, resource, pack, mark)
  return attempts
}

const sendTo = (url: string, { write, resource, pack }: Attempt, mark: Mark): Promise<Reply> =>
  write.send(url, resource, pack, mark)

/** Whether the records of a request are those from before or after it; the records if they are neither. */
async function stateOf(records: PackedRecords, { write, resource, pack }: Attempt): Promise<string> {
  const stored = await records.summary(resource, pack)
  return stored === write.after ? 'all' : stored === write.before ? 'nothing' : `partly: ${stored}`
}

const statesOf = (records: PackedRecords, attempts: readonly Attempt[]): Promise<readonly string[]> =>
  Promise.all(attempts.map((attempt) => stateOf(records, attempt)))

const isAcknowledged = ({ status }: Reply): boolean => status < 300
const all = manyWrites.map(() => 'all')
const nothing = manyWrites.map(() => 'nothing')

/** A database of the tests. */
interface Database {
  readonly source: SourceOptions
  readonly cluster?: Cluster
}

const databases: readonly {
  readonly name: string
  readonly start: () => Promise<Database>
  /** Statement after which the server ends other transactions in a deadlock, not the one of this session. */
  readonly yielding: string
  /** Statement that locks all records. Default: none is needed, because the server grants locks of records in order. */
  readonly lockAll?: string
}[] = [
  { name: 'SQLite', start: async () => ({ source: fileSource(temporaryDirectory()) }), yielding: '' },
  {
    name: 'PostgreSQL',
    // A waiting transaction looks for a deadlock once, after this time: the test must have caused it by then.
    start: async () => ofCluster(await startPostgres(['deadlock_timeout=2s'])),
    yielding: "SET deadlock_timeout = '1min'",
    // PostgreSQL does not grant locks of records in order: the repetition could lock a record first, and cause a second
    // deadlock.
    lockAll: 'LOCK TABLE item IN SHARE ROW EXCLUSIVE MODE',
  },
  // MariaDB ends the transaction that has changed fewer rows.
  {
    name: 'MariaDB',
    start: async () => ofCluster(await startMariadb()),
    yielding: 'UPDATE season SET name = reverse(name)',
  },
]

/** One client sends all writes at the same time. It can use two of five connections for writes. */
const poolSize = manyWrites.length * 3

const ofCluster = (cluster: Cluster): Database => ({ source: { ...cluster.source, poolSize }, cluster })
const fileSource = (directory: string): SourceOptions => ({
  type: 'better-sqlite3',
  database: join(directory, 'site.sqlite'),
  enableWAL: true,
})

describe.each(databases)('$name', ({ name, start, yielding, lockAll }) => {
  let database: Database
  let site: Site
  let records: PackedRecords
  beforeAll(async () => {
    database = await start()
    site = await openSite({ source: database.source, mount })
    records = await openPackedRecords(database.source)
    atEnd(() => site.close())
    atEnd(() => records.close())
  }, 180_000)

  const onServers = name === 'SQLite' ? () => undefined : test
  const cluster = (): Cluster => {
    if (database.cluster === undefined) throw new Error('SQLite has no server')
    return database.cluster
  }

  test('without faults, everything is written', async () => {
    const attempts = await prepareAll(records, 'item', 'nothing')
    const replies: Reply[] = []
    for (const attempt of attempts) replies.push(await sendTo(site.url, attempt, 'nothing'))
    expect(replies.filter((reply) => !isAcknowledged(reply)).map(describeReply)).toEqual([])
    expect(await statesOf(records, attempts)).toEqual(all)
  })

  test('if a listener throws an error at record 700, nothing is written', async () => {
    const attempts = await prepareAll(records, 'parcel', 'throw')
    const replies: Reply[] = []
    for (const attempt of attempts) replies.push(await sendTo(site.url, attempt, 'throw'))
    expect(replies.map(({ status }) => status)).toEqual(manyWrites.map(() => 500))
    expect(await statesOf(records, attempts)).toEqual(nothing)
  })

  test('when the process is killed at record 700, nothing is written, and acknowledged writes are stored', async () => {
    const earlier = await prepareAll(records, 'item', 'nothing')
    // On SQLite transactions run one at a time, so that each kill is for one of them.
    const some = byForm({ short: manyWrites.filter((_, index) => index % 2 === 0), long: manyWrites })
    const rounds = database.cluster === undefined ? some.map((write) => [write]) : [manyWrites]
    const replies: Reply[] = []
    for (const [round, writes] of rounds.entries()) {
      const attempts = await prepareAll(records, 'parcel', 'hold', writes)
      const child = await startChildSite({ source: { ...database.source, synchronize: false }, mount })
      if (round === 0) for (const attempt of earlier) replies.push(await sendTo(child.url, attempt, 'nothing'))
      const sending = attempts.map((attempt) => sendTo(child.url, attempt, 'hold').catch(() => 'no response'))
      await until('the writes are at record 700', () => child.news.held === writes.length, 60_000)
      await child.end('SIGKILL')
      expect(await Promise.all(sending)).toEqual(writes.map(() => 'no response'))
      expect(await statesOf(records, attempts)).toEqual(writes.map(() => 'nothing'))
    }
    expect(replies.map(isAcknowledged)).toEqual(manyWrites.map(() => true))
    expect(await statesOf(records, earlier)).toEqual(all)
  }, 180_000)

  onServers(
    'when the database is killed at record 700, the responses are 503 and nothing is written; repetitions write everything',
    async () => {
      const attempts = await prepareAll(records, 'parcel', 'hold')
      const held: (() => void)[] = []
      parcelHold.wait = () => new Promise((resume) => held.push(resume))
      const sending = Promise.all(attempts.map((attempt) => sendTo(site.url, attempt, 'hold')))
      await until('the writes are at record 700', () => held.length === attempts.length, 60_000)
      await cluster().kill()
      await cluster().start()
      parcelHold.wait = async () => {}
      for (const resume of held) resume()
      const replies = await sending
      await until('the connections are renewed', () =>
        records.summary('item', 0).then(
          () => true,
          () => false,
        ),
      )
      expect(replies.filter((reply) => !isUnavailable(reply)).map(describeReply)).toEqual([])
      expect(await statesOf(records, attempts)).toEqual(nothing)

      const repeated = await Promise.all(attempts.map((attempt) => sendTo(site.url, attempt, 'hold')))
      expect(repeated.filter((reply) => !isAcknowledged(reply)).map(describeReply)).toEqual([])
      expect(await statesOf(records, attempts)).toEqual(all)
    },
    180_000,
  )

  onServers(
    'a request that a deadlock has ended in the middle runs once more, as a whole',
    async () => {
      const attempts = await prepareAll(records, 'item', 'nothing')
      await records.addSeasons(4_000)
      const deadlocks = await cluster().deadlocks()
      for (const attempt of attempts) {
        const { write, pack } = attempt
        // Locks a record that the request changes, or the unique tag of one that it creates.
        const lock = (index: number): string =>
          write.before === ''
            ? `INSERT INTO item (pack, part, state, tag) VALUES (0, 0, 0, '${tagOf(pack, index)}')`
            : `UPDATE item SET pack = pack WHERE tag = '${tagOf(pack, index)}'`
        let sending: Promise<Reply> | undefined
        await cluster().whileLocked(yielding, async (query) => {
          await query(lock(700))
          sending = sendTo(site.url, attempt, 'nothing')
          await until('the request waits for record 700', async () => (await cluster().lockWaits()) > 0)
          await query(lockAll ?? lock(5))
          await query('DELETE FROM item WHERE pack = 0')
        })
        const reply = await sending
        expect(reply && isAcknowledged(reply) ? 'acknowledged' : reply && describeReply(reply)).toBe('acknowledged')
        expect(await stateOf(records, attempt)).toBe('all')
      }
      expect(await cluster().deadlocks()).toBe(deadlocks + attempts.length)
    },
    180_000,
  )
})

/** Faults of a SQLite file: how they begin and end. */
const diskFaults: readonly {
  readonly what: string
  readonly resource: PackedResource
  readonly source: () => SourceOptions
  readonly begin: (site: Site) => unknown
  readonly end: (site: Site) => unknown
}[] = [
  {
    what: 'the file cannot grow',
    resource: 'parcel',
    source: () => fileSource(temporaryDirectory()),
    begin: async ({ dataSource }) => {
      const [{ page_count: pages } = { page_count: 0 }] = await dataSource.query('PRAGMA page_count')
      await dataSource.query(`PRAGMA max_page_count = ${pages + 2}`)
    },
    end: ({ dataSource }) => dataSource.query('PRAGMA max_page_count = 100000'),
  },
  {
    what: 'the disk is full',
    resource: 'item',
    // A file in WAL mode has free space in its log.
    source: () => ({ ...fileSource(disk ?? ''), enableWAL: false }),
    begin: () => {
      const { bavail, bsize } = statfsSync(disk ?? '')
      writeFileSync(join(disk ?? '', 'filler'), Buffer.alloc((bavail - 4) * bsize))
    },
    end: () => rmSync(join(disk ?? '', 'filler')),
  },
]

test.each(disk === undefined ? diskFaults.slice(0, 1) : diskFaults)(
  '$what: each request is acknowledged and writes everything, or is 503 and writes nothing',
  async ({ resource, source, begin, end }) => {
    const own = source()
    const site = await openSite({ source: own, mount })
    const records = await openPackedRecords(own)
    atEnd(() => site.close())
    atEnd(() => records.close())
    const attempts = await prepareAll(records, resource, 'nothing')
    await begin(site)
    const replies: Reply[] = []
    for (const attempt of attempts) replies.push(await sendTo(site.url, attempt, 'nothing'))
    const refused = attempts.filter((_, index) => !isAcknowledged(replies[index] as Reply))
    expect(replies.filter((reply) => !isAcknowledged(reply) && !isUnavailable(reply)).map(describeReply)).toEqual([])
    expect(await statesOf(records, attempts)).toEqual(
      replies.map((reply) => (isAcknowledged(reply) ? 'all' : 'nothing')),
    )
    expect(refused.length).toBeGreaterThanOrEqual(2)

    await end(site)
    for (const attempt of refused) expect(isAcknowledged(await sendTo(site.url, attempt, 'nothing'))).toBe(true)
    expect(await statesOf(records, attempts)).toEqual(all)
    expect(await site.dataSource.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  },
)
