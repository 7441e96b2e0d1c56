import { Agent } from 'node:http'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { heapInUse } from '../support/heap'
import { openWorld, type World } from '../world/world'
import { byForm, logFigures, p99 } from './time'

/** Hashes passwords with the default settings. */
@Entity()
@Resource({ auth: userRule() })
@UserAccount()
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

@Entity()
@Resource()
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ default: 0 }) score!: number
}

const milliseconds = byForm({ short: 1500, long: 10_000 })
const agent = new Agent({ keepAlive: true })
let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [User, Note],
    seed: async (source) => {
      await source.getRepository(User).insert({ username: 'ann', password: await hashPassword('ann') })
      await source.getRepository(Note).insert({ title: 'one' })
    },
  })
})
afterAll(async () => {
  agent.destroy()
  await world.close()
})

interface TimedResponse {
  readonly status: number
  readonly took: number
}

/** Sends requests with a number of clients, each one request after another, until the time is over. */
async function sendRequests(
  clients: number,
  line: (index: number) => string,
  login?: (index: number) => string,
  url = world.url,
): Promise<TimedResponse[]> {
  const responses: TimedResponse[] = []
  const end = performance.now() + milliseconds
  const client = async (number: number): Promise<void> => {
    for (let index = number; performance.now() < end; index += clients) {
      const headers = login === undefined ? {} : { Authorization: login(index) }
      const start = performance.now()
      const { status } = await send(url, line(index), { agent, headers })
      responses.push({ status, took: performance.now() - start })
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return responses
}

const statusesOf = (responses: readonly TimedResponse[]): readonly number[] =>
  [...new Set(responses.map(({ status }) => status))].toSorted()
const p99Of = (responses: readonly TimedResponse[]): number => p99(responses.map(({ took }) => took))

/** A user whose password check counts its calls. */
@Entity()
@Resource({ auth: userRule() })
@UserAccount({ hash: async (password) => password, verify: countedVerify })
class Counted {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

let verifications = 0
async function countedVerify(password: string, hash: string): Promise<boolean> {
  verifications += 1
  return password === hash
}

test('the password of a user is hashed once for many requests', async () => {
  const counted = await openWorld({
    entities: [Counted],
    seed: async (source) => void (await source.getRepository(Counted).insert({ username: 'ann', password: 'ann' })),
  })
  const responses = await sendRequests(
    16,
    () => 'GET /api/counted/?limit=1',
    () => basic('ann'),
    counted.url,
  )
  await counted.close()
  expect(statusesOf(responses)).toEqual([200])
  logFigures('signed-in requests of one user, client and site in one process', {
    'a second': Math.round((responses.length / milliseconds) * 1000),
    'p99 ms': p99Of(responses),
  })
  expect([responses.length > 32, verifications]).toEqual([true, 1])
})

test('many requests with wrong passwords do not slow down other requests', async () => {
  const quiet = await sendRequests(8, () => 'GET /api/note/')
  const [flood, others] = await Promise.all([
    sendRequests(
      64,
      () => 'GET /api/user/',
      (index) => basic('ann', `wrong ${index}`),
    ),
    sendRequests(8, () => 'GET /api/note/'),
  ])
  expect([statusesOf(flood), statusesOf(others)]).toEqual([[401, 503], [200]])
  const hashed = flood.filter(({ status }) => status === 401).length
  logFigures('a flood of wrong passwords from 64 clients', {
    'hashed a second': Math.round((hashed / milliseconds) * 1000),
    'others p99 ms': p99Of(others),
    'without the flood p99 ms': p99Of(quiet),
  })
  // In the short form other tests use the CPU at the same time.
  expect(p99Of(others)).toBeLessThan(byForm({ short: 10_000, long: 250 }))
})

test('a long query string takes little time', async () => {
  const long = `title=${'x'.repeat(2000)}&`.repeat(7) + 'score=5&'.repeat(200)
  const responses = await sendRequests(1, () => `GET /api/note/?${long.slice(0, 15_900)}`)
  expect(statusesOf(responses)).toEqual([400])
  const within = `${`title=${'x'.repeat(2000)}&`.repeat(7)}limit=1`
  const answered = await sendRequests(1, () => `GET /api/note/?${within}`)
  expect(statusesOf(answered)).toEqual([200])
  logFigures('a query of 16 KB', { 'refused p99 ms': p99Of(responses), '14 KB answered p99 ms': p99Of(answered) })
  expect(p99Of(responses)).toBeLessThan(byForm({ short: 1000, long: 50 }))
})

test('queries of many shapes do not keep memory', async () => {
  const shape = (index: number): string =>
    `GET /api/note/?${['score', 'id', 'title'].map((name, bit) => `${name}__${['lt', 'gt', 'ne'][(index >> bit) % 3]}=${index}`).join('&')}&limit=${(index % 900) + 1}`
  const run = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await send(world.url, shape(index), { agent })
  }
  const count = byForm({ short: 1000, long: 10_000 })
  await run(count)
  const before = heapInUse()
  await run(count)
  const grown = (heapInUse() - before) / 2 ** 20
  logFigures(`${count} shapes of queries`, { 'heap grown MiB': grown.toFixed(2) })
  expect(grown).toBeLessThan(8)
})
