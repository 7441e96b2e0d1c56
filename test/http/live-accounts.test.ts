import { setTimeout as sleep } from 'node:timers/promises'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, QueryFailedError, type Relation } from 'typeorm'
import {
  ApiKeys,
  apiKeys,
  basic as basicAuthenticator,
  createApiKey,
  type MountOptions,
  type Principal,
  Resource,
  type Rule,
  UserAccount,
} from 'typeorm-resources'
import { basic, type Reply, send } from '../client'
import { EventReader } from '../support/event-reader'
import { unhashed } from '../support/unhashed'
import { openWorld, type World } from '../world/world'

/** Live lists of users whose accounts or API keys change (specification: Live lists). */

interface Member extends Principal {
  readonly team?: string
}

/** Users whose access rule waits, after it has read the account, and the functions that let it continue. */
const slowUsers = new Set<unknown>()
let waiting: (() => void)[] = []
/** Milliseconds that the access rule takes for everybody. */
let ruleMs = 0
/** Number of times that the access rule of a GET was called, by user. */
const ruleCalls = new Map<unknown, number>()
/** Number of next calls of the access rule of a GET for which the database is not available. */
let failures = 0
beforeEach(() => {
  slowUsers.clear()
  ruleCalls.clear()
  ruleMs = 0
  failures = 0
})

/** Lets all access rules continue. */
const openGate = (): void => {
  slowUsers.clear()
  for (const resume of waiting) resume()
  waiting = []
}

const auth: Rule = async ({ authenticate, reads }) => {
  const principal = (await authenticate()) ?? null
  const id = principal?.id
  if (reads) ruleCalls.set(id, (ruleCalls.get(id) ?? 0) + 1)
  if (reads && slowUsers.has(id)) await new Promise<void>((resolve) => waiting.push(resolve))
  if (reads && ruleMs > 0) await sleep(ruleMs)
  if (reads && failures-- > 0) {
    throw new QueryFailedError('SELECT 1', [], Object.assign(new Error('lost'), { code: 'ECONNRESET' }))
  }
  return principal
}

@Entity()
@Resource({ auth })
class Department {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth, bulk: true })
@UserAccount({ ...unhashed, principal: ['team'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) username!: string
  @Column({ length: 20 }) password!: string
  @Column({ length: 20, default: 'red' }) team!: string
  @Column({ default: true }) active!: boolean
  @Column({ length: 20, default: '' }) phone!: string
  @ManyToOne(() => Department, { onDelete: 'CASCADE' }) department!: Relation<Department> | null
}

@Entity()
@Resource({ auth, scope: (me) => ({ team: (me as Member).team ?? '' }) })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: 'red' }) team!: string
  @Column({ length: 20 }) title!: string
}

@Entity()
@Resource({ auth, ownerField: 'user' })
@ApiKeys()
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 20 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Person, { nullable: false }) user!: Relation<Person>
}

const ann = 1
const bob = 2
const people = ['ann', 'bob', 'boss']

let world: World
const readers: EventReader[] = []
const open = async (limits: MountOptions['limits'] = {}): Promise<void> => {
  world = await openWorld({
    entities: [Department, Person, Paper, Token],
    mount: { live: true, batch: true, limits, authenticators: [basicAuthenticator(), apiKeys()] },
    seed: async (dataSource) => {
      const rows = people.map((name, index) => ({ id: index + 1, username: name, password: name }))
      await dataSource.getRepository(Department).insert({ id: 1 })
      await dataSource.getRepository(Person).insert(rows)
      await dataSource.getRepository(Person).update(ann, { department: { id: 1 } })
    },
  })
}
afterEach(async () => {
  openGate()
  for (const reader of readers.splice(0)) reader.close()
  await world.close()
})

/** Opens a stream, and waits for its first event. */
const watch = async (authorization: string, path = 'paper/', lastId = ''): Promise<EventReader> => {
  const headers = { Authorization: authorization, 'Last-Event-ID': lastId }
  const reader = await EventReader.open(`${world.url}/api/${path}`, headers)
  readers.push(reader)
  expect(reader.status).toBe(200)
  if (lastId === '') expect(namesOf(await reader.take(1))).toEqual(['reset'])
  return reader
}

const namesOf = (events: readonly (readonly [string, unknown])[]): readonly string[] => events.map(([name]) => name)

const titlesOf = (events: readonly (readonly [string, unknown])[]): readonly string[] =>
  events.map(([, data]) => (data as Paper).title)

/** Sends a request as the boss. */
const request = async (line: string, body?: unknown): Promise<Reply> => {
  const reply = await send(world.url, line, { as: 'boss', body })
  expect([line, reply.status < 300]).toEqual([line, true])
  return reply
}

const batch = (...lines: readonly (readonly [string, object])[]): Promise<Reply> =>
  request(
    'POST /api/-/batch',
    lines.map(([line, body]) => ({ method: line.split(' ')[0], path: line.split(' ')[1], body })),
  )

const create = (title: string): Promise<Reply> => request('POST /api/paper/', { title })

const newKey = (user: number): Promise<string> => createApiKey(world.dataSource, { user: { id: user } })

const secret = { title: 'secret' }

const untilWaiting = async (count: number): Promise<void> => {
  for (let attempt = 0; attempt < 400 && waiting.length < count; attempt++) await sleep(5)
  expect(waiting.length).toBe(count)
}

describe.each<readonly [string, () => Promise<unknown>]>([
  [
    'a transaction deactivates a user and creates a record',
    () => batch(['PATCH /api/person/1/', { active: false }], ['POST /api/paper/', secret]),
  ],
  [
    'a transaction creates a record and deactivates a user',
    () => batch(['POST /api/paper/', secret], ['PATCH /api/person/1/', { active: false }]),
  ],
  [
    'a transaction moves a user to another team and creates a record',
    () => batch(['PATCH /api/person/1/', { team: 'blue' }], ['POST /api/paper/', secret]),
  ],
  [
    'a record is created after a user was deactivated',
    async () => {
      await request('PATCH /api/person/1/', { active: false })
      await request('POST /api/paper/', secret)
    },
  ],
  [
    'a record is created after a user was moved to another team',
    async () => {
      await request('PATCH /api/person/1/', { team: 'blue' })
      await request('POST /api/paper/', secret)
    },
  ],
  [
    'a record is created after a user was deleted',
    async () => {
      await request('DELETE /api/person/1/')
      await request('POST /api/paper/', secret)
    },
  ],
  [
    'a record is created after the database has deleted a user with another record',
    async () => {
      await request('DELETE /api/department/1/')
      await request('POST /api/paper/', secret)
    },
  ],
  [
    'a record is created after users were deactivated in bulk',
    async () => {
      await request('PATCH /api/person/?username=ann', { active: false })
      await request('POST /api/paper/', secret)
    },
  ],
  [
    'the application deactivates a user and creates a record',
    () =>
      world.dataSource.transaction(async (manager) => {
        await manager.update(Person, ann, { active: false })
        await manager.save(Paper, secret)
      }),
  ],
])('when %s', (_, change) => {
  test.each([false, true])('the user does not receive the record, also if the check is slow: %s', async (isSlow) => {
    await open()
    const [reader, item, other] = [
      await watch(basic('ann')),
      await watch(basic('ann'), 'paper/?title=secret'),
      await watch(basic('bob')),
    ]
    if (isSlow) slowUsers.add(ann)
    await change()
    expect(namesOf(await other.take(1))).toEqual(['created'])
    if (isSlow) await sleep(50)
    openGate()
    await Promise.all([reader.waitForClose(), item.waitForClose()])
    expect(reader.body + item.body).not.toContain('secret')
    expect(other.isClosed).toBe(false)
    expect(world.faults).toEqual([])
  })
})

test('events are held back until the account was checked, and then sent in order', async () => {
  await open()
  const reader = await watch(basic('ann'))
  slowUsers.add(ann)
  await request('PATCH /api/person/1/', { phone: '1' })
  await untilWaiting(1)
  for (const title of ['a', 'b', 'c']) await create(title)
  expect(await reader.takeNone()).toEqual([])
  openGate()
  expect(titlesOf(await reader.take(3))).toEqual(['a', 'b', 'c'])
  await create('d')
  expect(titlesOf(await reader.take(1))).toEqual(['d'])
  expect(reader.isClosed).toBe(false)
})

test('while accounts change all the time, subscribers receive events', async () => {
  await open()
  const reader = await watch(basic('ann'))
  ruleMs = 20
  let isDone = false
  const changes = (async () => {
    // The change of a query builder is reported without keys.
    for (let count = 0; !isDone; count++) {
      await world.dataSource.getRepository(Person).update(3, { phone: String(count) })
      await sleep(2)
    }
  })()
  for (const title of ['a', 'b', 'c']) {
    await world.dataSource.getRepository(Paper).insert({ title })
    expect(titlesOf(await reader.take(1))).toEqual([title])
  }
  const late = await EventReader.open(`${world.url}/api/paper/`, { Authorization: basic('bob') })
  readers.push(late)
  expect(namesOf(await late.take(1))).toEqual(['reset'])
  isDone = true
  await changes
  expect(reader.isClosed).toBe(false)
})

test('accounts that have changed are checked before those that may have changed', async () => {
  await open()
  const slow = Array.from({ length: 20 }, (_, index) => ({ id: 10 + index, name: `user${index}` }))
  await world.dataSource
    .getRepository(Person)
    .insert(slow.map(({ id, name }) => ({ id, username: name, password: name })))
  for (const { name } of slow) await watch(basic(name))
  const reader = await watch(basic('ann'))
  for (const { id } of slow) slowUsers.add(id)
  await world.dataSource.getRepository(Person).update(3, { phone: '1' })
  await sleep(50)
  await request('PATCH /api/person/1/', { active: false })
  await reader.waitForClose()
})

test('slow checks of a client do not delay the events of others', async () => {
  await open({ liveListsPerClient: 50 })
  for (let index = 0; index < 20; index++) await watch(basic('bob'), `paper/?id__gt=-${index}`)
  const reader = await watch(basic('ann'))
  slowUsers.add(bob)
  await batch(['PATCH /api/person/2/', { phone: '1' }], ['PATCH /api/person/1/', { phone: '1' }])
  await world.dataSource.getRepository(Person).update(3, { phone: '1' })
  await create('a')
  expect(titlesOf(await reader.take(1))).toEqual(['a'])
})

test('a change of API keys holds back only the events of clients with API keys', async () => {
  await open()
  const key = await newKey(bob)
  const [reader, withKey, deleted] = [
    await watch(basic('ann')),
    await watch(`ApiKey ${key}`),
    await watch(`apikey ${await newKey(bob)}`),
  ]
  slowUsers.add(bob)
  const before = ruleCalls.get(ann)
  await world.dataSource.getRepository(Token).delete(2)
  await create('secret')
  expect(titlesOf(await reader.take(1))).toEqual(['secret'])
  expect(await withKey.takeNone()).toEqual([])
  expect(ruleCalls.get(ann)).toBe(before)
  openGate()
  expect(titlesOf(await withKey.take(1))).toEqual(['secret'])
  await deleted.waitForClose()
  expect(deleted.body).not.toContain('secret')
})

test('a stream ends that would hold back more than liveBytes, and a new one continues', async () => {
  await open({ liveBytes: 1024 })
  const reader = await watch(basic('ann'))
  slowUsers.add(ann)
  await request('PATCH /api/person/1/', { phone: '1' })
  const titles = Array.from({ length: 30 }, (_, index) => `title ${index}`)
  for (const title of titles) await create(title)
  await reader.waitForClose()
  expect(reader.body).not.toContain('title')
  openGate()
  const again = await watch(basic('ann'), 'paper/', reader.lastId)
  expect(titlesOf(await again.take(30))).toEqual(titles)
  expect(world.faults).toEqual([])
})

test.each([
  ['deactivated', { active: false }],
  ['changed in another way', { phone: '1' }],
])('while the database is not available, a check is repeated: of a user who was %s', async (_, change) => {
  await open()
  const reader = await watch(basic('ann'))
  failures = 1
  await request('PATCH /api/person/1/', change)
  await create('secret')
  expect(await reader.takeNone()).toEqual([])
  expect(failures).toBeLessThanOrEqual(0)
  if ('active' in change) await reader.waitForClose()
  else expect(titlesOf(await reader.take(1))).toEqual(['secret'])
  expect(reader.body.includes('secret')).toBe(!('active' in change))
  expect(world.faults).toEqual([])
})

test('a user who is deactivated between authentication and subscription receives nothing', async () => {
  await open()
  slowUsers.add(ann)
  const opening = watch(basic('ann'), 'paper/', 'none')
  await untilWaiting(1)
  await request('PATCH /api/person/1/', { active: false })
  openGate()
  const reader = await opening
  await reader.waitForClose()
  expect(reader.events).toEqual([])
})
