import { Agent } from 'node:http'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { heapInUse } from '../hostile/cases'
import { openWorld, type World } from '../world/world'
import { byForm, p99, tell } from './time'

/** With the hashing that a site has unless it says otherwise. */
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

interface Asked {
  readonly status: number
  readonly took: number
}

/** So many clients ask one thing after another, until the time is over. */
async function ask(
  clients: number,
  line: (index: number) => string,
  login?: (index: number) => string,
  url = world.url,
): Promise<Asked[]> {
  const asked: Asked[] = []
  const end = performance.now() + milliseconds
  const client = async (number: number): Promise<void> => {
    for (let index = number; performance.now() < end; index += clients) {
      const headers = login === undefined ? {} : { Authorization: login(index) }
      const start = performance.now()
      const { status } = await send(url, line(index), { agent, headers })
      asked.push({ status, took: performance.now() - start })
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return asked
}

const statusesOf = (asked: readonly Asked[]): readonly number[] =>
  [...new Set(asked.map(({ status }) => status))].toSorted()
const p99Of = (asked: readonly Asked[]): number => p99(asked.map(({ took }) => took))

/** A user whose passwords are compared by a function that counts its calls. */
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

test('one user who asks all the time is hashed once', async () => {
  const counted = await openWorld({
    entities: [Counted],
    seed: async (source) => void (await source.getRepository(Counted).insert({ username: 'ann', password: 'ann' })),
  })
  const asked = await ask(
    16,
    () => 'GET /api/counted/?limit=1',
    () => basic('ann'),
    counted.url,
  )
  await counted.close()
  expect(statusesOf(asked)).toEqual([200])
  tell('signed-in requests of one user, client and site in one process', {
    'a second': Math.round((asked.length / milliseconds) * 1000),
    'p99 ms': p99Of(asked),
  })
  expect([asked.length > 32, verifications]).toEqual([true, 1])
})

test('a flood of wrong passwords leaves others alone', async () => {
  const quiet = await ask(8, () => 'GET /api/note/')
  const [flood, others] = await Promise.all([
    ask(
      64,
      () => 'GET /api/user/',
      (index) => basic('ann', `wrong ${index}`),
    ),
    ask(8, () => 'GET /api/note/'),
  ])
  expect([statusesOf(flood), statusesOf(others)]).toEqual([[401, 503], [200]])
  const hashed = flood.filter(({ status }) => status === 401).length
  tell('a flood of wrong passwords from 64 clients', {
    'hashed a second': Math.round((hashed / milliseconds) * 1000),
    'others p99 ms': p99Of(others),
    'without the flood p99 ms': p99Of(quiet),
  })
  // In the short form other tests take what they can of the machine.
  expect(p99Of(others)).toBeLessThan(byForm({ short: 10_000, long: 250 }))
})

test('a long query costs little', async () => {
  const long = `title=${'x'.repeat(2000)}&`.repeat(7) + 'score=5&'.repeat(200)
  const asked = await ask(1, () => `GET /api/note/?${long.slice(0, 15_900)}`)
  expect(statusesOf(asked)).toEqual([400])
  const within = `${`title=${'x'.repeat(2000)}&`.repeat(7)}limit=1`
  const answered = await ask(1, () => `GET /api/note/?${within}`)
  expect(statusesOf(answered)).toEqual([200])
  tell('a query of 16 KB', { 'refused p99 ms': p99Of(asked), '14 KB answered p99 ms': p99Of(answered) })
  expect(p99Of(asked)).toBeLessThan(byForm({ short: 1000, long: 50 }))
})

test('many shapes of queries leave nothing behind', async () => {
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
  tell(`${count} shapes of queries`, { 'heap grown MiB': grown.toFixed(2) })
  expect(grown).toBeLessThan(8)
}, 120_000)
