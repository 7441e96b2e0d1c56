import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  PrimaryColumn,
  PrimaryGeneratedColumn,
} from 'typeorm'
import { closeGracefully, type Principal, Resource, type Rule, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { EventReader } from '../support/event-reader'
import { listen } from '../support/listen'
import { Label, type LiveWorld, liveEntities, openLiveWorld, Project, Task } from '../support/live-world'
import { openPaused } from '../support/paused-client'
import { unhashed } from '../support/unhashed'
import { isMariadb, isSqlite } from '../world/leg'

/** Limits of live lists, and how they end (specification: Live lists). */

let world: LiveWorld
afterEach(() => world.close())

/** Users whose credentials are not valid any more. */
const refused = new Set<string>()
/** Teams of users, instead of those in the header. */
const teams = new Map<string, string>()
beforeEach(() => {
  refused.clear()
  teams.clear()
})

/** The user of the header `X-User`. */
const byHeader: Rule = ({ context }) => {
  const [id = '', team = ''] = context.get('X-User').split(':')
  return id === '' || refused.has(id) ? null : ({ id, team: teams.get(id) ?? team } as Principal)
}

@Entity()
@Resource({ auth: byHeader, scope: (principal) => ({ team: (principal as { team?: string }).team ?? '' }) })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: 'red' }) team!: string
  @Column(isMariadb ? { type: 'mediumtext' } : { type: 'text' }) text!: string
}

@Entity()
@UserAccount(unhashed)
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) username!: string
  @Column({ length: 20 }) password!: string
}

@Entity()
@Resource({ auth: userRule() })
class Notice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

/** The access rule of `Memo`, after it has read the user, and each read of a `Draft` wait for it. */
let gate = Promise.resolve()
let waitingAtGate = 0
const passGate = async (): Promise<void> => {
  waitingAtGate += 1
  await gate
  waitingAtGate -= 1
}

@Entity()
@Resource({
  auth: async ({ authenticate }) => {
    const member = (await authenticate()) ?? null
    await passGate()
    return member
  },
})
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

@Entity()
@Resource({ auth: byHeader })
class Code {
  @PrimaryColumn({ length: 130 }) code!: string
}

@Entity()
@Resource({ auth: userRule() })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

@EventSubscriber()
class SlowDrafts implements EntitySubscriberInterface<Draft> {
  listenTo = (): typeof Draft => Draft
  afterLoad = passGate
}

const open = async (limits: object = {}): Promise<void> => {
  const entities = [...liveEntities, Paper, Member, Notice, Memo, Draft, Code]
  world = await openLiveWorld({ limits, passwordChange: true }, { entities, source: { subscribers: [SlowDrafts] } })
}

/** Makes the access rule of `Memo` wait until the result is called. */
const closeGate = (): (() => void) => {
  let open = (): void => undefined
  gate = new Promise((resolve) => {
    open = resolve
  })
  return open
}

const untilWaiting = async (count: number): Promise<void> => {
  for (let attempt = 0; attempt < 200 && waitingAtGate < count; attempt++) await sleep(5)
}

/** Records the log lines about streams from now on. */
const recordLog = (): readonly string[] => {
  const lines: string[] = []
  world.dataSource.logger.log = (_, line) => {
    if (String(line).includes('streamed')) lines.push(String(line))
  }
  return lines
}

const statusOf = async (path: string, user?: string): Promise<number> => (await world.watch(path, user)).status

const create = async (count: number, team = 'red'): Promise<void> => {
  const project = team === 'red' ? 1 : 2
  const tasks = Array.from({ length: count }, (_, index) => ({ title: `t${index}`, project: { id: project } }))
  await world.dataSource.getRepository(Task).insert(tasks)
}

/** Subscribes to lists, each a path and a user, and waits until they are read. */
const watchLists = async (lists: readonly (readonly [string, string])[]): Promise<readonly EventReader[]> => {
  const readers: EventReader[] = []
  // One after the other: the order of the subscriptions decides which of them are refused, or closed.
  for (const [path, user] of lists) {
    const reader = await world.watch(path, user)
    expect((await reader.take(1)).map(([name]) => name)).toEqual(['reset'])
    readers.push(reader)
  }
  return readers
}

/** Waits until a subscription is possible again. */
const untilOpen = async (path: string, user?: string): Promise<void> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const reader = await world.watch(path, user)
    if (reader.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('no subscription is possible')
}

test('at most liveLists subscriptions are open; one that ends makes room for another one', async () => {
  await open({ liveLists: 3, liveListsPerClient: 3 })
  const readers = await Promise.all(['a:red', 'b:red', 'c:blue', 'd:blue'].map((user) => world.watch('task/', user)))
  expect(readers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 503])
  const refused = readers.find(({ status }) => status === 503)
  await refused?.waitForClose()
  expect(refused?.response.headers['retry-after']).toBeDefined()
  expect(refused?.body).toContain('limits.liveLists')
  readers.find(({ status }) => status === 200)?.close()
  await untilOpen('task/', 'e:red')
  expect(await statusOf('task/', 'f:red')).toBe(503)
})

test('one user has at most liveListsPerClient subscriptions, also if they are opened at the same time', async () => {
  await open({ liveListsPerClient: 2 })
  const readers = await Promise.all([1, 2, 3, 4].map(() => world.watch('task/')))
  expect(readers.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429])
  expect(readers.find(({ status }) => status === 429)?.response.headers['retry-after']).toBeDefined()
  expect(await statusOf('task/', 'bob:blue')).toBe(200)
  readers.find(({ status }) => status === 200)?.close()
  await untilOpen('task/')
  expect(await statusOf('task/')).toBe(429)
})

test('a list with more than liveRecords is refused, and one that grows over it ends', async () => {
  await open({ liveRecords: 5 })
  await create(5)
  const [reader, other] = [await world.watch('task/'), await world.watch('task/', 'bob:blue')]
  expect([await reader.take(1), await other.take(1)]).toMatchObject([[['reset', { length: 5 }]], [['reset', []]]])
  await create(1)
  await reader.waitForClose()
  const refused = await world.watch('task/')
  await refused.waitForClose()
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('limits.liveRecords')])
  expect(other.isClosed).toBe(false)
  await create(1, 'blue')
  expect((await other.take(1)).map(([name]) => name)).toEqual(['created'])
  expect(await statusOf('task/?title=t0')).toBe(200)
})

test('lists that have more than allLiveRecords together are refused, also if clients ask at the same time', async () => {
  await open({ allLiveRecords: 10 })
  await create(4)
  await create(5, 'blue')
  const reader = await world.watch('task/')
  expect((await reader.take(1)).length).toBe(1)
  await watchLists([['label/', 'dan']])
  const refused = await Promise.all([1, 2, 3].map(() => world.watch('task/', 'bob:blue')))
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503])
  // Equal lists count once.
  expect(await statusOf('task/', 'cid:red')).toBe(200)
  expect(await statusOf('task/?title=t0', 'bob:blue')).toBe(200)
  await create(1)
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['created'])
  expect(world.faults).toEqual([])
})

test('a record with a long key counts several times towards allLiveRecords', async () => {
  await open({ allLiveRecords: 8 })
  await watchLists([
    ['label/', 'bob'],
    ['project/', 'bob'],
  ])
  const codes = world.dataSource.getRepository(Code)
  const long = (letter: string): string => letter.padEnd(130, 'x')
  await codes.insert([{ code: 'a' }, { code: long('b') }])
  const reader = await world.watch('code/')
  expect((await reader.take(1)).length).toBe(1)
  await codes.remove(await codes.findBy({ code: long('b') }))
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['gone'])
  await codes.save({ code: long('c') })
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['created'])
  expect(await statusOf('code/?code=a', 'cid')).toBe(503)
  await codes.save({ code: 'd' })
  await reader.waitForClose()
  expect(await statusOf('code/')).toBe(503)
})

test('a list ends that grows so that all lists have more than allLiveRecords', async () => {
  await open({ allLiveRecords: 8 })
  await create(2)
  const reader = await world.watch('task/?title__like=t%25')
  const other = await world.watch('label/?fields=name')
  await Promise.all([reader.take(1), other.take(1)])
  await create(6)
  await reader.waitForClose()
  expect(await statusOf('task/?title__like=t%25')).toBe(503)
  expect(other.isClosed).toBe(false)
})

test('one user can have half of allLiveRecords', async () => {
  await open({ allLiveRecords: 6 })
  await create(3)
  await watchLists([['task/', 'ann:red']])
  const refused = await world.watch('task/?title__ne=x')
  await refused.waitForClose()
  expect([refused.status, refused.body]).toEqual([503, expect.stringContaining('half of limits.allLiveRecords')])
  const [reader] = await watchLists([['label/', 'bob:red']])
  await world.dataSource.getRepository(Label).insert({ name: 'new' })
  expect((await reader?.take(1))?.map(([name]) => name)).toEqual(['created'])
})

test('a list counts in equal parts for the users who subscribe to it', async () => {
  await open({ allLiveRecords: 8 })
  await create(4)
  await watchLists([['task/', 'ann:red']])
  expect(await statusOf('label/')).toBe(503)
  await watchLists([['task/', 'bob:red']])
  expect(await statusOf('label/')).toBe(200)
  expect(await statusOf('project/')).toBe(503)
})

test('if lists grow above allLiveRecords, lists of the user with the most records are closed, those that others share last', async () => {
  await open({ allLiveRecords: 10 })
  await create(5)
  const [own, grown, ...shared] = await watchLists([
    ['task/?title__in=t0,t1', 'ann:red'],
    ['label/', 'bob'],
    ['task/', 'cid:red'],
    ['task/', 'ann:red'],
  ])
  await world.dataSource.getRepository(Label).insert([{ name: 'a' }, { name: 'b' }])
  expect((await grown?.take(2))?.map(([name]) => name)).toEqual(['created', 'created'])
  await own?.waitForClose()
  expect([grown, ...shared].map((reader) => reader?.isClosed)).toEqual([false, false, false])
})

test('a subscription closes lists of another user that have grown to more than half of allLiveRecords', async () => {
  await open({ allLiveRecords: 6 })
  await create(3)
  const [grown] = await watchLists([['task/', 'ann:red']])
  await create(3)
  expect((await grown?.take(3))?.length).toBe(3)
  await watchLists([['label/', 'bob']])
  await grown?.waitForClose()
  expect(await statusOf('task/', 'ann:red')).toBe(503)
})

test('an item that nobody could subscribe to is not read at changes', async () => {
  await open()
  for (const path of ['task/99/', 'task/98/', 'task/97/']) expect(await statusOf(path)).toBe(404)
  const reader = await world.watch('task/', 'bob:blue')
  await reader.take(1)
  world.statements()
  await world.dataSource.getRepository(Task).save({ title: 'new', project: { id: 2 } })
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['created'])
  await sleep(50)
  expect(world.statements().filter((sql) => sql.includes('tr_0') && sql.includes('title'))).toHaveLength(1)
})

test('a client that does not read is disconnected, and others receive all events', async () => {
  await open({ liveBytes: 500_000 })
  const lines = recordLog()
  const papers = world.dataSource.getRepository(Paper)
  const { id } = await papers.save({ text: 'first' })
  const socket = await openPaused(
    world.url,
    'GET /api/paper/ HTTP/1.1\r\nHost: x\r\nX-User: ann:red\r\nAccept: text/event-stream\r\n\r\n',
  )
  const reader = await world.watch('paper/')
  expect((await reader.take(1)).length).toBe(1)
  for (let round = 0; lines.length === 0 && round < 100; round++) {
    await papers.update(id, { text: `${round}`.padEnd(200_000, 'x') })
    expect((await reader.take(1)).map(([name]) => name)).toEqual(['updated'])
  }
  expect(lines).toEqual([expect.stringContaining('limits.liveBytes')])
  socket.resume()
  await new Promise((resolve) => socket.once('close', resolve))
  expect(reader.isClosed).toBe(false)
  expect(await statusOf('paper/')).toBe(200)
  expect(world.faults).toEqual([])
})

test('a client that does not read does not keep a subscription that has ended', async () => {
  await open({ liveBytes: 5_000_000, liveCheck: 300, liveListsPerClient: 1, liveHeartbeat: 100 })
  const papers = world.dataSource.getRepository(Paper)
  const { id } = await papers.save({ text: 'first' })
  const socket = await openPaused(
    world.url,
    'GET /api/paper/ HTTP/1.1\r\nHost: x\r\nX-User: ann:red\r\nAccept: text/event-stream\r\n\r\n',
  )
  for (let round = 0; round < 40; round++) {
    await papers.update(id, { text: `${round}`.padEnd(200_000, 'x') })
    await sleep(5)
  }
  expect(await statusOf('paper/')).toBe(429)
  refused.add('ann')
  await sleep(400)
  refused.clear()
  await untilOpen('paper/')
  socket.destroy()
  expect(world.faults).toEqual([])
})

test('the number of listeners of a response does not grow with the whole lists that it receives', async () => {
  const responses: ServerResponse[] = []
  world = await openLiveWorld(
    {},
    {
      before: (app) =>
        void app.use((context, next) => {
          responses.push(context.res)
          return next()
        }),
    },
  )
  const reader = await world.watch('task/?fields=title')
  await reader.take(1)
  const [response] = responses
  const listeners = (): readonly unknown[] => [
    response?.listenerCount('close'),
    response?.req.socket.listenerCount('close'),
  ]
  /** Changes more records than are reported one by one, and waits until the client has received the whole list. */
  const reset = async (title: string): Promise<void> => {
    const { status } = await world.request('PATCH task/?title__ne=x', { title })
    expect(status).toBe(200)
    expect((await reader.take(1)).map(([name]) => name)).toEqual(['reset'])
    // The response checks every 100 ms whether its client has received the list.
    await sleep(250)
  }
  await create(600)
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['reset'])
  // Shorter lists are not counted.
  await reset('zero'.padEnd(40, '.'))
  const before = listeners()
  for (const title of ['one', 'two', 'three']) await reset(title.padEnd(40, '.'))
  expect(listeners()).toEqual(before)
})

test('heartbeats are sent in the interval liveHeartbeat', async () => {
  await open({ liveHeartbeat: 30 })
  const reader = await world.watch('task/')
  await sleep(300)
  expect(reader.comments).toBeGreaterThan(2)
})

test('a subscription ends when its credentials are not valid any more, or its list is another one', async () => {
  await open({ liveCheck: 100 })
  const reader = await world.watch('paper/', 'ann:red')
  const moved = await world.watch('paper/', 'bob:blue')
  const other = await world.watch('paper/', 'cid:blue')
  await sleep(250)
  expect([reader.isClosed, moved.isClosed]).toEqual([false, false])
  refused.add('ann')
  teams.set('bob', 'red')
  await Promise.all([reader.waitForClose(), moved.waitForClose()])
  expect(await statusOf('paper/')).toBe(401)
  await world.dataSource.getRepository(Paper).insert({ team: 'blue', text: 'new' })
  expect((await other.take(2)).map(([name]) => name)).toEqual(['reset', 'created'])
  expect(world.faults).toEqual([])
})

test.each([
  [
    'a request changes the password',
    async () => {
      const body = { old: 'ann', new: 'new' }
      expect((await send(world.url, 'POST /api/-/password', { as: 'ann', body })).status).toBe(204)
    },
  ],
  ['the application changes the password', () => world.dataSource.getRepository(Member).update(1, { password: 'new' })],
  ['the application removes the user', () => world.dataSource.getRepository(Member).delete(1)],
])('when %s, the subscriptions of the user end at once', async (_, change) => {
  await open()
  const names = ['ann', 'bob']
  await world.dataSource
    .getRepository(Member)
    .insert(names.map((name, index) => ({ id: index + 1, username: name, password: name })))
  const [reader, other] = await Promise.all(
    names.map((name) => world.watch('notice/', '', { Authorization: basic(name) })),
  )
  expect([reader?.status, other?.status]).toEqual([200, 200])
  await change()
  await reader?.waitForClose()
  expect(other?.isClosed).toBe(false)
})

test('a user who is deleted while the credentials are checked loses the subscription', async () => {
  await open()
  const members = world.dataSource.getRepository(Member)
  await members.insert({ username: 'ann', password: 'ann' })
  const reader = await EventReader.open(`${world.url}/api/memo/`, { Authorization: basic('ann') })
  expect((await reader.take(1)).length).toBe(1)
  const openGate = closeGate()
  await members.update(1, { username: 'ann' })
  await untilWaiting(1)
  await members.delete(1)
  await sleep(50)
  openGate()
  await reader.waitForClose()
})

test('a user who is deleted while the list is read for the first time loses the subscription', async () => {
  await open()
  const members = world.dataSource.getRepository(Member)
  await members.insert({ username: 'ann', password: 'ann' })
  await world.dataSource.getRepository(Draft).insert({ text: 'a' })
  const openGate = closeGate()
  // The connection may be closed before the response begins.
  const headers = { Authorization: basic('ann') }
  const opening = EventReader.open(`${world.url}/api/draft/`, headers).catch(() => undefined)
  await untilWaiting(1)
  await members.delete(1)
  await sleep(50)
  openGate()
  await (await opening)?.waitForClose()
})

test('few credentials are checked at the same time, however many accounts change', async () => {
  await open()
  const members = world.dataSource.getRepository(Member)
  const names = Array.from({ length: 20 }, (_, index) => `user${index}`)
  await members.insert(names.map((name) => ({ username: name, password: name })))
  const readers = await Promise.all(
    [...names, ...names, ...names].map((name) =>
      EventReader.open(`${world.url}/api/memo/`, { Authorization: basic(name) }),
    ),
  )
  for (const reader of readers) expect((await reader.take(1)).length).toBe(1)
  const openGate = closeGate()
  // The change of a query builder is reported without keys.
  for (let count = 0; count < 10; count++) {
    await members.update(1, { username: 'user0' })
    await sleep(10)
  }
  await sleep(200)
  const checks = waitingAtGate
  openGate()
  expect(checks).toBe(8)
  expect((await Promise.all(readers.map((reader) => reader.takeNone()))).flat()).toEqual([])
  expect(readers.filter(({ isClosed }) => isClosed)).toEqual([])
  for (const reader of readers) reader.close()
})

test('closeGracefully ends the streams and refuses further ones', async () => {
  await open()
  const server = createServer(world.app.callback())
  const reader = await EventReader.open(`${await listen(server)}/api/task/`, { 'X-User': 'ann:red' })
  await reader.take(1)
  const closing = closeGracefully(server, world.dataSource, { timeout: 3000 })
  expect(await statusOf('task/')).toBe(503)
  await reader.waitForClose()
  expect(reader.response.complete).toBe(true)
  expect(await closing).toBe(true)
  await world.dataSource.initialize()
})

test('after the data source was destroyed and initialized again, lists are live again', async () => {
  await open()
  const reader = await world.watch('task/')
  await reader.take(1)
  await world.dataSource.destroy()
  await reader.waitForClose()
  expect(reader.response.complete).toBe(true)
  expect(await statusOf('task/')).toBe(503)
  await world.dataSource.initialize()
  if (isSqlite) await world.dataSource.getRepository(Project).insert([{ team: 'red' }, { team: 'blue' }])
  const again = await world.watch('task/', 'ann:red', { 'Last-Event-ID': reader.lastId })
  expect((await again.take(1)).map(([name]) => name)).toEqual(['reset'])
  await world.request('POST task/', { title: 'new', project_id: 1 })
  expect((await again.take(1)).map(([name]) => name)).toEqual(['created'])
  expect(world.faults).toEqual([])
})
