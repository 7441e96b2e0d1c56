import { EventEmitter, once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Slow statements of one client delay others for the time of one statement, although all statements run on one connection. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query("INSERT INTO note (text) VALUES (replace(hex(zeroblob(2000)), '00', 'ab'))")
  for (let count = 1; count < 32_768; count *= 2)
    await dataSource.query('INSERT INTO note (text) SELECT text FROM note')
}

let world: World
/** The requests in the order in which their responses ended: the number of a slow request, or `other`. */
const ended: string[] = []
beforeAll(async () => {
  world = await openWorld({
    entities: [Note],
    seed,
    before: (app) => {
      app.proxy = true
      app.use(async (context, next) => {
        await next()
        ended.push(context.get('x-name'))
      })
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const slow = 'text__like=%25zz%25&id__ne='
const waysToBeSlow = [
  ['lists', (number: number) => `GET /api/note/?${slow}${number}`],
  ['bulk writes', (number: number) => `DELETE /api/note/?${slow}${number}`],
] as const
const otherRequests = [
  ['an item', 'GET /api/note/1/', undefined],
  ['a list', 'GET /api/note/?limit=2', undefined],
  ['a new record', 'POST /api/note/', { text: 'new' }],
  ['a transaction', 'POST /api/note/', [{ text: 'new' }, { text: 'newer' }]],
] as const

const situations = [
  ['on open connections', { keepAlive: true, transaction: false }],
  ['on new connections', { keepAlive: false, transaction: false }],
  ['on open connections, during a transaction', { keepAlive: true, transaction: true }],
] as const

describe.each(situations)('%s', (_, { keepAlive, transaction }) => {
  describe.each(waysToBeSlow)('slow %s of one client', (__, lineOf) => {
    test.each(otherRequests)('do not delay %s of another client until all have ended', async (___, line, body) => {
      const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
      const agent = new Agent({ keepAlive })
      const sendAs = (address: string, name: string, request: string, sent?: unknown) =>
        send(world.url, request, { agent, headers: { 'X-Forwarded-For': address, 'X-Name': name }, body: sent })
      // Opens connections, so that the slow requests arrive in the same iteration of the event loop.
      await Promise.all([...numbers, 0, 0].map(() => sendAs('192.0.2.1', 'first', 'GET /api/note/1/')))
      ended.splice(0)
      const manyNotes = Array.from({ length: 900 }, () => ({ text: 'new' }))
      const slowReplies = [
        ...(transaction ? [sendAs('192.0.2.1', 'transaction', 'POST /api/note/', manyNotes)] : []),
        ...numbers.map((number) => sendAs('192.0.2.1', String(number), lineOf(number))),
      ]
      if (keepAlive) await Promise.race(transaction ? [pause(10)] : slowReplies)
      const other = await sendAs('192.0.2.2', 'other', line, body)
      const replies = await Promise.all(slowReplies)
      agent.destroy()
      expect([other, ...replies].map(({ status }) => status).filter((status) => status >= 300)).toEqual([])
      // The first one has ended, the second one may be running, and the other request arrives in several parts on a busy machine.
      expect(ended.indexOf('other')).toBeLessThanOrEqual(6)
      expect(ended).toHaveLength(slowReplies.length + 1)
    })
  })
})

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
  const impatient = await openWorld({ entities: [Note], seed, mount: { waitLimit: 20 } })
  const replies = await Promise.all(
    [1, 2, 3, 4].map((number) => send(impatient.url, `GET /api/note/?${slow}${number}`)),
  )
  await impatient.close()
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test('if too many statements wait, those of the client that has most are refused', async () => {
  const { url, dataSource, faults, close } = await openWorld({
    entities: [Note],
    before: (app) => {
      app.proxy = true
    },
  })
  const sendAs = (address: string) =>
    send(url, 'POST /api/note/', { headers: { 'X-Forwarded-For': address }, body: { text: 'new' } })
  const events = new EventEmitter()
  const transaction = dataSource.transaction(() => once(events, 'end'))
  await pause(50)
  const ofOne = Array.from({ length: 1_010 }, () => sendAs('192.0.2.1'))
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
})
