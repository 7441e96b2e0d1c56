import { Redis, type RedisOptions } from 'ioredis'
import { Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic } from '../client'
import { EventReader } from '../support/event-reader'
import { CardLedger, type CardState, CardWriters } from './card-writers'
import { type ChildOptions, startChildSite } from './child-site'
import { type Cluster, startPostgresWithPassword } from './clusters'
import { startDroppingProxy } from './dropping-proxy'
import { Card, Deck } from './entities'
import { LiveCopy } from './live-copy'
import { type RedisServer, startRedis } from './redis'
import { createSource, openSite, serveSite } from './site'
import { byForm, logFigures, sleep, until } from './time'

/** Live lists of two processes: each sends the changes that the other one makes (specification: Live lists). */

const writers = 8
const undisturbedMs = byForm({ short: 700, long: 5_000 })

let cluster: Cluster
let redis: RedisServer
beforeAll(async () => {
  ;[cluster, redis] = await Promise.all([startPostgresWithPassword(), startRedis()])
  // Another site creates the tables before these start.
  const dataSource = await createSource(cluster.source).initialize()
  await dataSource.getRepository(Deck).insert([{ shelf: 'left' }, { shelf: 'right' }])
  await dataSource.destroy()
})

const lists: readonly { readonly path: string; readonly user: string; readonly sees: (card: CardState) => boolean }[] =
  [
    { path: 'card/', user: 'ann:red', sees: ({ team }) => team === 'red' },
    { path: 'card/?state=open', user: 'root', sees: ({ state }) => state === 'open' },
    { path: 'card/?deck__shelf=left', user: 'bob:blue', sees: ({ team }) => team === 'blue' },
  ]

interface Fault {
  readonly what: string
  readonly happen: () => Promise<unknown>
}

const databaseFaults: readonly Fault[] = [
  {
    what: 'PostgreSQL is restarted',
    happen: async () => {
      await cluster.stop()
      await sleep(300)
      await cluster.start()
    },
  },
  { what: 'all connections to PostgreSQL are closed', happen: () => cluster.terminate() },
]

/** Closes the connections of the relays. */
const endListening = (): Promise<unknown> =>
  cluster.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' OR query = 'SELECT 1'",
  )

const listenFaults: readonly Fault[] = [
  {
    what: 'the connections with LISTEN are closed three times',
    happen: async () => {
      for (let time = 0; time < 3; time++) {
        await endListening()
        await sleep(400)
      }
    },
  },
]

const redisFaults: readonly Fault[] = [
  {
    what: 'Redis is restarted',
    happen: async () => {
      const { port } = redis
      await redis.stop()
      await sleep(500)
      redis = await startRedis(port)
    },
  },
]

const noFault: Fault = { what: 'nothing happens', happen: async () => undefined }

describe.each<{
  readonly relay: string
  readonly options: () => Omit<ChildOptions, 'source'>
  readonly processes: number
  readonly faults: readonly Fault[]
}>([
  {
    relay: 'PostgreSQL',
    options: () => ({ mount: { live: { relay: 'postgres' } } }),
    processes: 2,
    faults: [noFault, ...databaseFaults, ...listenFaults],
  },
  {
    relay: 'Redis',
    options: () => ({ redisPort: redis.port }),
    processes: 2,
    faults: [noFault, ...databaseFaults, ...redisFaults],
  },
  {
    relay: 'PostgreSQL, with node:cluster',
    options: () => ({ mount: { live: { relay: 'postgres' } }, workers: 2 }),
    processes: 1,
    faults: [noFault],
  },
])('two processes with the relay $relay', ({ relay, options, processes, faults }) => {
  let urls: readonly string[]
  beforeAll(async () => {
    const source = { ...cluster.source, synchronize: false }
    const starting = Array.from({ length: processes }, () => startChildSite({ source, ...options() }))
    urls = (await Promise.all(starting)).map(({ url }) => url)
  })

  const opened: LiveCopy[] = []
  afterEach(() => Promise.all(opened.splice(0).map((copy) => copy.close())))

  const anyUrl = (): string => urls[Math.floor(Math.random() * urls.length)] ?? ''

  test.each(faults)(
    'if $what, subscribers end with the list of GET',
    async ({ what, happen }) => {
      await cluster.query('DELETE FROM card')
      const ledger = new CardLedger()
      const copies = lists.flatMap((list) => [
        ...urls.map((url) => ({ ...list, copy: new LiveCopy(() => url, list) })),
        { ...list, copy: new LiveCopy(anyUrl, { ...list, disconnectsWithin: 400 }) },
      ])
      opened.push(...copies.map(({ copy }) => copy))
      await until('all subscribers have their list', () => copies.every(({ copy }) => copy.events.length > 0))
      const work = new CardWriters(anyUrl, ledger, writers)
      await sleep(undisturbedMs)
      await happen()
      await sleep(undisturbedMs)
      await work.stop()
      for (const { copy } of copies) copy.settle()
      const start = performance.now()
      for (const { copy } of copies) {
        const expected = await copy.read()
        await until('it has the list', () => copy.isOpen && copy.text === expected).catch(() =>
          expect([copy.options, copy.isOpen, copy.text]).toEqual([copy.options, true, expected]),
        )
      }
      logFigures(`two processes, relay ${relay}, ${what}`, {
        writes: ledger.writes,
        events: copies.reduce((sum, { copy }) => sum + copy.events.length, 0),
        connections: copies.reduce((sum, { copy }) => sum + copy.connections, 0),
        'equal after ms': Math.round(performance.now() - start),
      })
      expect(copies.flatMap(({ copy, sees }) => ledger.mistakesIn(copy, sees)).slice(0, 5)).toEqual([])
      const surprises = work.surprises.filter((one) => what === noFault.what || !/^503|broke/.test(one))
      expect([...new Set(surprises)].slice(0, 5)).toEqual([])
      // Streams stay open while the database is not available.
      const steady = copies.filter(({ copy }) => copy.options.disconnectsWithin === undefined)
      expect(steady.map(({ copy }) => copy.connections)).toEqual(steady.map(() => 1))
    },
    60_000,
  )
})

test('two data sources of one process receive the changes of each other', async () => {
  const source = { ...cluster.source, synchronize: false }
  const mount = { live: { relay: 'postgres' } } as const
  const [writing, reading] = await Promise.all([openSite({ source, mount }), openSite({ source, mount })])
  const copy = new LiveCopy(() => reading.url, { path: 'card/', user: 'root' })
  try {
    await until('it has the list', () => copy.events.length > 0)
    const listening = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
    await until('both listen', async () => (await cluster.query(listening)).length >= 2)
    const card = { team: 'green', state: 'open', version: 1, deck: { id: 1 } }
    await writing.dataSource.getRepository(Card).save(card)
    await until('it has the card', () => copy.events.some(({ name }) => name === 'created'))
  } finally {
    await copy.close()
    await Promise.all([writing.close(), reading.close()])
  }
})

@Entity()
@UserAccount()
@Resource({ auth: userRule() })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) username!: string
  @Column({ length: 200 }) password!: string
  @Column({ default: true }) active!: boolean
}

test('the stream of a user ends who was deactivated in another process while the connection with LISTEN was lost', async () => {
  const openMembers = async (synchronize: boolean) =>
    serveSite(await new DataSource({ ...cluster.source, entities: [Member], synchronize }).initialize(), {
      mount: { live: { relay: 'postgres' } },
    })
  const writing = await openMembers(true)
  const reading = await openMembers(false)
  const members = writing.dataSource.getRepository(Member)
  const ann = await members.save({ username: 'ann', password: await hashPassword('ann') })
  const headers = { Authorization: basic('ann', 'ann') }
  const reader = await EventReader.open(`${reading.url}/api/member/`, headers)
  try {
    await until('it has the list', () => reader.events.length > 0)
    const listening = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
    await until('both listen', async () => (await cluster.query(listening)).length >= 2)
    await endListening()
    await members.save({ id: ann.id, active: false })
    await until('its stream has ended', () => reader.isClosed)
  } finally {
    reader.close()
    await Promise.all([writing.close(), reading.close()])
  }
})

test.each<[string, RedisOptions]>([
  ['that connects at its first command', { lazyConnect: true }],
  ['that also queues no commands', { lazyConnect: true, enableOfflineQueue: false }],
  ['that does not subscribe again by itself', { autoResubscribe: false }],
])('changes arrive through a client of Redis %s', async (_client, clientOptions) => {
  const source = { ...cluster.source, synchronize: false }
  const clients = Array.from({ length: 2 }, () => new Redis({ port: redis.port, ...clientOptions }))
  const [writing, reading] = await Promise.all(clients.map((relay) => openSite({ source, mount: { live: { relay } } })))
  if (writing === undefined || reading === undefined) throw new Error('there must be a site for each client')
  const copy = new LiveCopy(() => reading.url, { path: 'card/', user: 'root' })
  const created = (): number => copy.events.filter(({ name }) => name === 'created').length
  try {
    await until('it has the list', () => copy.events.length > 0)
    const card = { team: 'green', state: 'open', version: 1, deck: { id: 1 } }
    // The first ones may be saved before both clients are connected.
    await until('it has a card', async () => {
      await writing.dataSource.getRepository(Card).insert(card)
      await sleep(100)
      return created() > 0
    })
  } finally {
    await copy.close()
    await Promise.all([writing.close(), reading.close()])
    for (const client of clients) client.disconnect()
  }
})

test('changes arrive although a firewall has dropped the connection to Redis that receives messages', async () => {
  const source = { ...cluster.source, synchronize: false }
  const proxy = await startDroppingProxy(redis.port)
  const clients = [new Redis({ port: redis.port }), new Redis({ port: proxy.port })]
  const [writing, reading] = await Promise.all(clients.map((relay) => openSite({ source, mount: { live: { relay } } })))
  if (writing === undefined || reading === undefined) throw new Error('there must be a site for each client')
  const copy = new LiveCopy(() => reading.url, { path: 'card/', user: 'root' })
  const created = (): number => copy.events.filter(({ name }) => name === 'created').length
  const insert = () =>
    writing.dataSource.getRepository(Card).insert({ team: 'green', state: 'open', version: 1, deck: { id: 1 } })
  try {
    await until('it has the list', () => copy.events.length > 0)
    await until('it has a card', async () => {
      await insert()
      await sleep(100)
      return created() > 0
    })
    await sleep(500)
    const before = created()
    proxy.drop()
    await insert()
    await until('it has the next card', () => created() > before, 30_000)
  } finally {
    await copy.close()
    await Promise.all([writing.close(), reading.close()])
    for (const client of clients) client.disconnect()
    proxy.close()
  }
})

@Entity('card')
@Resource()
class OtherCard {
  @PrimaryGeneratedColumn('uuid') id!: string
}

test('a site ignores messages of another site whose table has the same name and keys of another type', async () => {
  const clients = Array.from({ length: 2 }, () => new Redis({ port: redis.port }))
  const [relay, otherRelay] = clients
  if (relay === undefined || otherRelay === undefined) throw new Error('each site needs a client')
  const site = await openSite({ source: { ...cluster.source, synchronize: false }, mount: { live: { relay } } })
  const source = { type: 'better-sqlite3', database: ':memory:', entities: [OtherCard], subscribers: [] }
  const other = await openSite({ source, mount: { live: { relay: otherRelay } } })
  const copy = new LiveCopy(() => site.url, { path: 'card/', user: 'root' })
  const sent: unknown[] = []
  const listener = new Redis({ port: redis.port })
  listener.on('message', (_, message) => sent.push(message))
  try {
    await listener.subscribe('typeorm_resources')
    await until('it has the list', () => copy.events.length > 0)
    await other.dataSource.getRepository(OtherCard).save({})
    await until('the message is sent', () => sent.length > 0)
    await site.dataSource.getRepository(Card).save({ team: 'green', state: 'open', version: 1, deck: { id: 1 } })
    await until('it has the card', () => copy.events.some(({ name }) => name === 'created'))
    expect(site.faults).toEqual([])
  } finally {
    await copy.close()
    await Promise.all([site.close(), other.close()])
    for (const client of [...clients, listener]) client.disconnect()
  }
})

test('a warning is logged, once for all connections, if Redis refuses the subscription', async () => {
  const admin = new Redis({ port: redis.port })
  await admin.call('ACL', 'SETUSER', 'publisher', 'on', '>secret', 'allcommands', 'allkeys', 'resetchannels')
  const relay = new Redis({ port: redis.port, username: 'publisher', password: 'secret' })
  const dataSource = await createSource({ ...cluster.source, synchronize: false }).initialize()
  const warnings: unknown[] = []
  dataSource.logger.log = (_level, line) => {
    if (/relay/.test(String(line))) warnings.push(line)
  }
  const site = await serveSite(dataSource, { mount: { live: { relay } } })
  try {
    await until('there is a warning', () => warnings.length > 0)
    await admin.call('CLIENT', 'KILL', 'USER', 'publisher')
    await sleep(500)
    expect(warnings).toEqual([
      expect.stringMatching(
        /^typeorm-resources: the relay of live lists cannot SUBSCRIBE to \w+, so changes of other processes do not arrive: NOPERM /,
      ),
    ])
  } finally {
    await site.close()
    for (const client of [relay, admin]) client.disconnect()
  }
})
