import { EventEmitter, once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { sqliteFile } from '../support/sqlite-file'
import { openWorld, type World } from '../world/world'

/** Slow statements of one client delay others for the time of one statement, although all statements run on one connection. */

/** Emits `open`, for which rules wait. */
const gate = new EventEmitter().setMaxListeners(0)

/** The data source of the statements of rules. */
let ofRules: DataSource | undefined

/** Permits every request. The header `X-Rule` says what the rule waits for: an open gate, a statement, or both. */
const rule: Rule = async ({ context }) => {
  if (context.get('x-rule').includes('gate')) await once(gate, 'open')
  if (context.get('x-rule').includes('statement')) await ofRules?.getRepository(Note).findOneBy({ id: 1 })
  return anonymous
}

@Entity()
@Resource({ auth: rule, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

@Entity()
@Resource({ auth: rule })
class Measure {
  @PrimaryGeneratedColumn() id!: number
  @Column() value!: number
}

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query("INSERT INTO note (text) VALUES (replace(hex(zeroblob(2000)), '00', 'ab'))")
  for (let count = 1; count < 32_768; count *= 2)
    await dataSource.query('INSERT INTO note (text) SELECT text FROM note')
  await dataSource.query(
    'INSERT INTO measure (value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n',
  )
}

let world: World
/** The requests in the order in which their responses ended: the number of a slow request, or `other`. */
const ended: string[] = []
beforeAll(async () => {
  world = await openWorld({
    entities: [Note, Measure],
    seed,
    before: (app) => {
      app.proxy = true
      app.use(async (context, next) => {
        await next()
        ended.push(context.get('x-name'))
      })
    },
  })
  ofRules = world.dataSource
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const slow = 'text__like=%25zz%25&id__ne='
const waysToBeSlow = [
  ['lists', (number: number) => `GET /api/note/?${slow}${number}`],
  // Their statement has no pattern, and therefore no time limit.
  ['lists of no record', (number: number) => `GET /api/measure/?value__lt=-${number}`],
  ['bulk writes', (number: number) => `DELETE /api/note/?${slow}${number}`],
] as const
const otherRequests = [
  ['an item', 'GET /api/note/1/', undefined],
  ['a list', 'GET /api/note/?limit=2', undefined],
  ['a new record', 'POST /api/note/', { text: 'new' }],
  ['a transaction', 'POST /api/note/', [{ text: 'new' }, { text: 'newer' }]],
] as const

const all = { ways: waysToBeSlow, others: otherRequests }
const some = { ways: waysToBeSlow.slice(0, 1), others: otherRequests.slice(0, 3) }
const situations = [
  ['on open connections', { keepAlive: true, transaction: false, ...all }],
  ['on a new connection', { keepAlive: false, transaction: false, ...some }],
  ['on open connections, during a transaction', { keepAlive: true, transaction: true, ...some }],
] as const

describe.each(situations)('%s', (_, { keepAlive, transaction, ways, others }) => {
  describe.each(ways)('slow %s of one client', (__, lineOf) => {
    test.each(others)('do not delay %s of another client until all have ended', async (___, line, body) => {
      const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
      const openConnections = new Agent({ keepAlive: true })
      const sendAs = (address: string, name: string, request: string, sent?: unknown, agent?: Agent) =>
        send(world.url, request, {
          agent: agent ?? openConnections,
          headers: { 'X-Forwarded-For': address, 'X-Name': name },
          body: sent,
        })
      // Opens connections, so that the slow requests arrive in the same iteration of the event loop.
      await Promise.all([...numbers, 0, 0].map(() => sendAs('192.0.2.1', 'first', 'GET /api/note/1/')))
      ended.splice(0)
      const manyNotes = Array.from({ length: 900 }, () => ({ text: 'new' }))
      const slowReplies = [
        ...(transaction ? [sendAs('192.0.2.1', 'transaction', 'POST /api/note/', manyNotes)] : []),
        ...numbers.map((number) => sendAs('192.0.2.1', String(number), lineOf(number))),
      ]
      if (keepAlive) await Promise.race(transaction ? [pause(10)] : slowReplies)
      const other = await sendAs('192.0.2.2', 'other', line, body, keepAlive ? openConnections : new Agent())
      const replies = await Promise.all(slowReplies)
      openConnections.destroy()
      expect([other, ...replies].map(({ status }) => status).filter((status) => status >= 300)).toEqual([])
      // The first one has ended, the second one may be running, and the other request arrives in several parts on a busy machine.
      expect(ended.indexOf('other')).toBeLessThanOrEqual(6)
      expect(ended).toHaveLength(slowReplies.length + 1)
    })
  })
})

/** Sends a request of a client on a new connection. */
const sendFrom = (address: string, name: string, line: string, headers: Readonly<Record<string, string>> = {}) =>
  send(world.url, line, { headers: { 'X-Forwarded-For': address, 'X-Name': name, ...headers } })

// The slow requests have arrived before, because Node.js accepts one connection in each iteration of the event loop.
test.each([
  ['rules end together', 'gate', 'none'],
  ['rules run statements', 'gate, statement', 'statement'],
])('slow requests whose %s do not delay another client until all have ended', async (_, slowRule, otherRule) => {
  const slowReplies = Array.from({ length: 24 }, (__, number) =>
    sendFrom('192.0.2.1', String(number), `GET /api/note/?${slow}${number}`, { 'X-Rule': slowRule }),
  )
  await pause(200)
  ended.splice(0)
  gate.emit('open')
  await Promise.race(slowReplies)
  const other = await sendFrom('192.0.2.2', 'other', 'GET /api/note/1/', { 'X-Rule': otherRule })
  const replies = await Promise.all(slowReplies)
  expect([other, ...replies].map(({ status }) => status).filter((status) => status !== 200)).toEqual([])
  expect(ended.indexOf('other')).toBeLessThanOrEqual(16)
})

test('many short statements of one client do not delay another client until all have ended', async () => {
  const replies = Array.from({ length: 150 }, (_, number) =>
    sendFrom('192.0.2.1', String(number), `GET /api/note/?id__lt=2000&${slow}${number}`, { 'X-Rule': 'gate' }),
  )
  await pause(500)
  ended.splice(0)
  gate.emit('open')
  await Promise.race(replies)
  const other = await sendFrom('192.0.2.2', 'other', 'GET /api/note/1/')
  const statuses = [other, ...(await Promise.all(replies))].map(({ status }) => status)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(ended.indexOf('other')).toBeLessThanOrEqual(75)
})

test.each([
  ['another client', '192.0.2.2'],
  ['the same client', '192.0.2.1'],
])(
  'slow statements of a batch do not delay reads of %s on the second connection until all have ended',
  async (_, address) => {
    const file = sqliteFile()
    const order: string[] = []
    const { url, close } = await openWorld({
      entities: [Note, Measure],
      seed,
      source: file.source,
      mount: { batch: true },
      before: (app) => {
        app.proxy = true
        app.use(async (context, next) => {
          await next()
          order.push(context.method)
        })
      },
    })
    const operations = Array.from({ length: 20 }, (_, number) => ({
      method: 'DELETE',
      path: `/api/note/?${slow}${number}`,
    }))
    const sendAs = (from: string, line: string, body?: unknown) =>
      send(url, line, { headers: { 'X-Forwarded-For': from }, body })
    const batch = sendAs('192.0.2.1', 'POST /api/-/batch', operations)
    await pause(150)
    const read = await sendAs(address, 'GET /api/note/1/')
    const written = await batch
    await close()
    file.remove()
    expect([read.status, written.status]).toEqual([200, 200])
    expect(order).toEqual(['GET', 'POST'])
  },
)

test('a short request waits for a few of the transactions that another client sends all the time', async () => {
  const agent = new Agent({ keepAlive: true })
  const sendAs = (address: string, name: string, request: string, sent?: unknown) =>
    send(world.url, request, { agent, headers: { 'X-Forwarded-For': address, 'X-Name': name }, body: sent })
  const notes = Array.from({ length: 100 }, () => ({ text: 'new' }))
  let isEnded = false
  ended.splice(0)
  const sendAlways = async (): Promise<void> => {
    for (let index = 0; index < 20 && !isEnded; index++)
      await sendAs('192.0.2.1', 'transaction', 'POST /api/note/', notes)
  }
  const all = Promise.all(Array.from({ length: 5 }, sendAlways))
  await pause(50)
  const before = ended.length
  const replies = [
    await sendAs('192.0.2.2', 'other', 'GET /api/note/1/'),
    await sendAs('192.0.2.2', 'other', 'GET /api/note/?limit=2'),
  ]
  isEnded = true
  await all
  agent.destroy()
  expect(replies.map(({ status }) => status)).toEqual([200, 200])
  expect(ended.lastIndexOf('other') - before).toBeLessThan(30)
})

test('a statement waits for slow statements longer than for a transaction', async () => {
  const impatient = await openWorld({ entities: [Note, Measure], seed, mount: { waitLimit: 20 } })
  const replies = await Promise.all(
    [1, 2, 3, 4].map((number) => send(impatient.url, `GET /api/note/?${slow}${number}`)),
  )
  await impatient.close()
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test.each([
  ['statements', 'none'],
  ['statements of rules', 'statement'],
])('if too many %s of one client wait, those of another one are not refused', async (_, ruleName) => {
  const { url, dataSource, faults, close } = await openWorld({
    entities: [Note],
    before: (app) => {
      app.proxy = true
    },
  })
  ofRules = dataSource
  const sendAs = (address: string, waitsFor = 'none') =>
    send(url, 'POST /api/note/', {
      headers: { 'X-Forwarded-For': address, 'X-Rule': waitsFor },
      body: { text: 'new' },
    })
  const events = new EventEmitter()
  const transaction = dataSource.transaction(() => once(events, 'end'))
  await pause(50)
  const ofOne = Array.from({ length: 1_010 }, () => sendAs('192.0.2.1', ruleName))
  // Those beyond a thousand are refused at once.
  await Promise.race(ofOne)
  const other = sendAs('192.0.2.2')
  expect(await Promise.race([other, pause(200, 'waits')])).toBe('waits')
  events.emit('end')
  await transaction
  const refused = (await Promise.all(ofOne)).filter(({ status }) => status === 503)
  expect((await other).status).toBe(201)
  expect(refused.length).toBeGreaterThan(0)
  expect(faults).toHaveLength(refused.length)
  await close()
  ofRules = world.dataSource
})

// Clients, their number, and how many slow requests may end before the other one. Measured: three, and nine.
test.each([
  ['one client', 1, 8],
  ['three clients', 3, 14],
])(
  'a new connection does not wait for all slow requests of %s, which are on new connections too',
  async (_, count, maxBefore) => {
    ended.splice(0)
    const slowReplies = Array.from({ length: 24 }, (__, number) =>
      sendFrom(`192.0.2.${10 + (number % count)}`, String(number), `GET /api/note/?${slow}${number}`),
    )
    const other = await sendFrom('192.0.2.2', 'other', 'GET /api/note/1/')
    const replies = await Promise.all(slowReplies)
    expect([other, ...replies].map(({ status }) => status).filter((status) => status >= 300)).toEqual([])
    expect(ended).toHaveLength(25)
    expect(ended.indexOf('other')).toBeLessThanOrEqual(maxBefore)
  },
)
