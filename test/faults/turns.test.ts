import type Koa from 'koa'
import { type SendOptions, send } from '../client'
import { EventReader } from '../support/event-reader'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { Note, Season } from './entities'
import { openSite, type Site } from './site'
import { sleep, until } from './time'

/** Request number `index` of one kind. */
type Kind = (index: number) => { readonly line: string; readonly status: number } & SendOptions

const read: Kind = () => ({ line: 'GET /api/season/1/', status: 200 })

/** Requests of all kinds that wait for a connection. */
const kinds: Readonly<Record<string, Kind>> = {
  read,
  'request for the page of the session': (index) => ({
    line: 'GET /api/-/session',
    as: `nobody ${index}`,
    status: 401,
  }),
  batch: (index) => ({
    line: 'POST /api/-/batch',
    body: [{ method: 'POST', path: '/api/note/', body: { tag: `batch ${index}` } }],
    status: 200,
  }),
  'write with an Idempotency-Key': (index) => ({
    line: 'POST /api/note/',
    body: { tag: `key ${index}` },
    headers: { 'Idempotency-Key': `key-${index}` },
    status: 201,
  }),
}

describe.each([
  { name: 'PostgreSQL', start: startPostgres, lockNotes: 'LOCK TABLE note', pause: 'pg_sleep(0.03)' },
  {
    name: 'MariaDB',
    start: startMariadb,
    lockNotes: 'LOCK TABLES note WRITE',
    pause: '(SELECT SLEEP(0.03)) AS pause',
  },
])('clients take turns to use the connections of $name', ({ start, lockNotes, pause }) => {
  let cluster: Cluster
  /** Number of requests that all tests have sent, so that no request writes a value that is already stored. */
  let sent = 0
  beforeAll(async () => {
    cluster = await start()
  })

  interface Clients {
    readonly site: Site
    /** Sends a request as a client, which is an address. */
    readonly sendAs: (client: string, kind: Kind) => Promise<void>
    /** Number of requests that have arrived. */
    readonly arrived: () => number
    /** The clients and statuses of the responses so far, in their order. */
    readonly answered: { readonly client: string; readonly status: number }[]
  }

  const openForClients = async (poolSize: number, live = false): Promise<Clients> => {
    let arrived = 0
    const site = await openSite({
      source: { ...cluster.source, poolSize },
      mount: { waitLimit: 30_000, batch: true, live },
      before: (app: Koa) => {
        app.proxy = true
        app.use((_, next) => {
          arrived += 1
          return next()
        })
      },
    })
    atEnd(site.close)
    const { dataSource, url } = site
    if ((await dataSource.getRepository(Season).count()) === 0) {
      await dataSource.getRepository(Season).insert({ name: 'spring' })
      await dataSource.getRepository(Note).insert([{ tag: 'first' }, { tag: 'second' }])
    }
    const answered: Clients['answered'] = []
    const sendAs = async (client: string, kind: Kind): Promise<void> => {
      sent += 1
      const { line, status: expected, headers, ...options } = kind(sent)
      const { status } = await send(url, line, { ...options, headers: { ...headers, 'X-Forwarded-For': client } })
      if (status !== 503) expect(status).toBe(expected)
      answered.push({ client, status })
    }
    return { site, sendAs, arrived: () => arrived, answered }
  }

  /** Sends requests in groups, because the server does not accept all connections at once. */
  const flood = async (
    { sendAs, arrived }: Clients,
    count: number,
    kind: Kind,
    clientOf: (index: number) => string,
  ): Promise<readonly Promise<void>[]> => {
    const before = arrived()
    const requests: Promise<void>[] = []
    while (requests.length < count) {
      requests.push(sendAs(clientOf(requests.length), kind))
      if (requests.length % 100 === 0) await until('requests arrive', () => arrived() === before + requests.length)
    }
    await until('all requests arrive', () => arrived() === before + count)
    return requests
  }

  test.each([
    ...Object.entries(kinds).map(([kind, request]) => ({ kind, request, many: 30, refusals: 0 })),
    // At most 1,000 statements can wait for a connection. Those of the service that check its settings may wait too.
    { kind: 'read', request: read, many: 1_100, refusals: 101 },
  ])(
    'a $kind is not delayed by $many waiting ones of another client',
    async ({ request, many, refusals }) => {
      const clients = await openForClients(1)
      const { site, sendAs, arrived, answered } = clients
      const runner = site.dataSource.createQueryRunner()
      await runner.connect()
      const requests = await flood(clients, many, request, () => '192.0.2.1')
      const other = sendAs('192.0.2.2', request)
      await until(
        'all requests arrive, and those that are too many are refused',
        () => arrived() === many + 1 && answered.length >= refusals,
      )
      await sleep(100)
      const refused = answered.splice(0)
      expect(refused.every(({ client, status }) => client === '192.0.2.1' && status === 503)).toBe(true)
      await runner.release()
      await Promise.all([...requests, other])
      expect(answered.every(({ status }) => status !== 503)).toBe(true)
      expect(answered.length + refused.length).toBe(many + 1)
      expect(answered.findIndex(({ client }) => client === '192.0.2.2')).toBeLessThan(10)
    },
    60_000,
  )

  test('of too many clients with one waiting request each, the last ones are refused', async () => {
    const clients = await openForClients(1)
    const { site, answered } = clients
    const runner = site.dataSource.createQueryRunner()
    await runner.connect()
    const addressOf = (index: number): string => `192.0.${index >> 8}.${index & 255}`
    const requests = await flood(clients, 1_100, read, addressOf)
    await until('the last ones are refused', () => answered.length >= 100)
    const refused = new Set(answered.map(({ client }) => client))
    await runner.release()
    await Promise.all(requests)
    const first = Array.from({ length: 990 }, (_, index) => addressOf(index))
    expect(first.filter((client) => refused.has(client))).toEqual([])
  })

  test.each([
    { what: 'statements', headers: (): Record<string, string> => ({}) },
    { what: 'transactions', headers: (index: number) => ({ 'Idempotency-Key': `slow-${index}` }) },
  ])(
    'one client cannot use all connections of a pool of four for slow $what',
    async ({ headers }) => {
      const clients = await openForClients(4)
      const { sendAs, answered } = clients
      const put =
        (id: number): Kind =>
        (index) => ({ line: `PUT /api/note/${id}/`, body: { score: index }, headers: headers(index), status: 200 })
      const slow = await cluster.whileLocked('UPDATE note SET score = 0 WHERE id = 1', async () => {
        const requests = await flood(clients, 20, put(1), () => '192.0.2.1')
        await until('the connections of the client are in use', async () => (await cluster.lockWaits()) >= 2)
        await sleep(100)
        await Promise.all([sendAs('192.0.2.2', read), sendAs('192.0.2.3', put(2))])
        expect(answered).toHaveLength(2)
        return requests
      })
      await Promise.all(slow)
      expect(answered.every(({ status }) => status === 200)).toBe(true)
    },
    60_000,
  )

  test('slow statements of three clients leave a connection of ten to others', async () => {
    const clients = await openForClients(10)
    const { sendAs, answered } = clients
    const readNotes: Kind = () => ({ line: 'GET /api/note/', status: 200 })
    const slow = await cluster.whileLocked(lockNotes, async () => {
      const requests = await flood(clients, 60, readNotes, (index) => `192.0.2.${1 + (index % 3)}`)
      await sleep(200)
      await Promise.all([sendAs('192.0.2.4', read), sendAs('192.0.2.5', read)])
      expect(answered).toHaveLength(2)
      return requests
    })
    await Promise.all(slow)
    expect(answered.every(({ status }) => status === 200)).toBe(true)
  })

  test('slow statements of two clients that end and start together leave connections of ten to others', async () => {
    const clients = await openForClients(10)
    const { sendAs, answered } = clients
    const readNotes: Kind = () => ({ line: 'GET /api/note/', status: 200 })
    let locksAgain = Promise.resolve()
    const slow = await cluster.whileLocked(lockNotes, async () => {
      const requests = await flood(clients, 60, readNotes, (index) => `192.0.2.${1 + (index % 2)}`)
      await sleep(400)
      // It gets the lock after the statements that wait now, and before those that follow them.
      locksAgain = cluster.whileLocked(lockNotes, async () => {
        await sleep(200)
        answered.splice(0)
        await Promise.all([sendAs('192.0.2.4', read), sendAs('192.0.2.5', read)])
        expect(answered.map(({ client, status }) => `${client} ${status}`).sort()).toEqual([
          '192.0.2.4 200',
          '192.0.2.5 200',
        ])
      })
      await sleep(200)
      return requests
    })
    await locksAgain
    await Promise.all(slow)
  })

  test.each<readonly [action: string, kind: Kind]>([
    ['read', read],
    ['export', () => ({ line: 'GET /api/note/?format=ndjson', status: 200 })],
  ])(
    'a client whose writes wait for a lock can %s while many clients with short work use the other connections',
    async (_, kind) => {
      const clients = await openForClients(6)
      const { sendAs, answered } = clients
      const readReceipts: Kind = () => ({ line: 'GET /api/receipt/', status: 200 })
      const put: Kind = (index) => ({ line: 'PUT /api/note/1/', body: { score: index }, status: 200 })
      const readMeanwhile = () =>
        cluster.whileLocked('UPDATE note SET score = 0 WHERE id = 1', async () => {
          const waiting = [sendAs('192.0.2.1', put), sendAs('192.0.2.1', put)]
          await until('the writes wait for the lock', async () => (await cluster.lockWaits()) >= 2)
          let isOver = false
          const others = Array.from({ length: 20 }, async (_, index) => {
            while (!isOver) await sendAs(`192.0.2.${10 + index}`, readReceipts)
          })
          await sleep(200)
          answered.splice(0)
          await Promise.all([sendAs('192.0.2.1', kind), sendAs('192.0.2.1', kind)])
          isOver = true
          await Promise.all(others)
          expect(answered.filter(({ client, status }) => client === '192.0.2.1' || status === 503)).toEqual(
            Array(2).fill({ client: '192.0.2.1', status: 200 }),
          )
          return waiting
        })
      await cluster.query('ALTER TABLE receipt RENAME TO stored_receipt')
      await cluster.query(`CREATE VIEW receipt AS SELECT 1 AS id, 'short' AS tag FROM ${pause}`)
      try {
        await Promise.all(await readMeanwhile())
      } finally {
        await cluster.query('DROP VIEW receipt')
        await cluster.query('ALTER TABLE stored_receipt RENAME TO receipt')
      }
    },
  )

  test('HEADs of streamed lists of one client leave connections to the writes of others', async () => {
    const clients = await openForClients(10)
    const { sendAs, answered } = clients
    const head: Kind = () => ({ line: 'HEAD /api/note/?format=ndjson', status: 200 })
    const slow = await cluster.whileLocked(lockNotes, async () => {
      const requests = await flood(clients, 20, head, () => '192.0.2.1')
      await sleep(200)
      await sendAs('192.0.2.2', (index) => ({ line: 'POST /api/memo/', body: { tag: `head ${index}` }, status: 201 }))
      expect(answered).toEqual([{ client: '192.0.2.2', status: 201 }])
      return requests
    })
    await Promise.all(slow)
  })

  test('a live list that clients share does not wait for the turn of the client that has opened it', async () => {
    const clients = await openForClients(10, true)
    const { site, sendAs } = clients
    const subscribe = async (address: string): Promise<EventReader> => {
      const reader = await EventReader.open(`${site.url}/api/memo/`, { 'X-Forwarded-For': address })
      await reader.waitFor('reset')
      return reader
    }
    const first = await subscribe('192.0.2.1')
    const second = await subscribe('192.0.2.2')
    first.close()
    const slow = await cluster.whileLocked(lockNotes, async () => {
      const requests = await flood(
        clients,
        20,
        () => ({ line: 'GET /api/note/', status: 200 }),
        () => '192.0.2.1',
      )
      await sleep(200)
      second.events.splice(0)
      await sendAs('192.0.2.3', (index) => ({ line: 'POST /api/memo/', body: { tag: `live ${index}` }, status: 201 }))
      expect((await second.take(1)).map(([name]) => name)).toEqual(['created'])
      return requests
    })
    await Promise.all(slow)
    second.close()
  })

  test('writes of several clients that wait for a locked record leave a connection to reads', async () => {
    const clients = await openForClients(4)
    const { sendAs, answered } = clients
    const put: Kind = (index) => ({ line: 'PUT /api/note/1/', body: { score: index }, status: 200 })
    const slow = await cluster.whileLocked('UPDATE note SET score = 0 WHERE id = 1', async () => {
      const requests = await flood(clients, 20, put, (index) => `192.0.2.${1 + (index % 4)}`)
      await until('the connections of writes are in use', async () => (await cluster.lockWaits()) >= 3)
      await sleep(100)
      await sendAs('192.0.2.9', read)
      expect(answered).toHaveLength(1)
      return requests
    })
    await Promise.all(slow)
    expect(answered.every(({ status }) => status === 200)).toBe(true)
  })

  test('with replication without replicas, reads use the primary at once', async () => {
    const site = await openSite({
      source: { type: cluster.source.type, replication: { master: cluster.source, slaves: [] } },
      mount: { waitLimit: 60_000 },
    })
    atEnd(site.close)
    expect((await send(site.url, 'GET /api/season/')).status).toBe(200)
  })
})
