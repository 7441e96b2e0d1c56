import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import Koa from 'koa'
import mount from 'koa-mount'
import { AfterLoad, Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { anonymous, mountResources, problem, Resource } from 'typeorm-resources'
import { send } from '../client'
import { EventReader } from '../support/event-reader'
import { openLiveWorld, Project } from '../support/live-world'
import { worldPerTest } from '../support/world-per-test'
import type { World, WorldOptions } from '../world/world'

/** Koa's `error` event, with each kind of listener that an application can have (specification: Error documents). */

/** Where the application throws a value, and the value. */
let failure: { readonly place: string; readonly value: unknown } | undefined
const failAt = (place: string): void => {
  if (failure?.place === place) throw failure.value
}

@Entity()
@Resource({ auth: () => anonymous })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string

  @AfterLoad()
  load(): void {
    failAt('related listener')
  }
}

@Entity()
@Resource({
  auth: () => {
    failAt('access rule')
    return anonymous
  },
  scope: () => {
    failAt('scope')
    return true
  },
  bulk: true,
  formats: true,
})
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @ManyToOne(() => Person) lead!: Relation<Person> | null

  @AfterLoad()
  load(): void {
    failAt('listener')
  }
}

const readsPath = (error: unknown, { path }: Koa.Context): void => void [error, path]
const throwsAlways = (): void => {
  throw new Error('the log is full')
}

/** Ways to set up an application whose `error` event throws, at least for some errors. */
const setUps: Record<string, WorldOptions> = {
  "Koa's own listener": { before: (app) => void app.removeAllListeners('error') },
  'a listener that needs a context': { before: (app) => void app.on('error', readsPath) },
  'a listener that throws': { before: (app) => void app.on('error', throwsAlways) },
  'no listener, inside of koa-mount': {
    mountOn: (app, dataSource) => {
      const inner = new Koa()
      const mounted = mountResources(inner, dataSource, { live: true })
      app.use(mount('/inner', inner))
      return mounted
    },
  },
}
const rootOf = (setUp: string): string => (setUp.includes('koa-mount') ? '/inner/api' : '/api')
const names = Object.keys(setUps)

const openForTest = worldPerTest()
const openWith = (setUp: string): Promise<World> =>
  openForTest({
    entities: [Person, Task],
    mount: { live: true },
    seed: async (dataSource) => {
      const lead = await dataSource.getRepository(Person).save({ name: 'ann' })
      await dataSource.getRepository(Task).insert([{ title: 'first', lead }, { title: 'second' }])
    },
    ...setUps[setUp],
  })

/** What was printed to stderr. */
let printed: string[]
/** Called when something is printed. Jest fails a test in which a rejection is not handled. */
let notice: () => void
beforeEach(() => {
  printed = []
  notice = () => undefined
  jest.spyOn(console, 'error').mockImplementation((...values: unknown[]) => {
    printed.push(values.join(' '))
    notice()
  })
})
afterEach(() => {
  failure = undefined
  jest.restoreAllMocks()
})

/** Resolves when something is printed. */
const nextNotice = (): Promise<void> =>
  new Promise((resolve) => {
    notice = resolve
  })

const thrown = [
  new Error('no mail'),
  Object.assign(new Error('snapshot'), { code: 'SQLITE_BUSY_SNAPSHOT' }),
  'a text',
  undefined,
  null,
]
/** Koa prints no errors that it may show to clients. */
const notPrinted = problem(409, 'not today')
const textOf = (value: unknown): string => (value instanceof Error ? value.message : `an Error: ${inspect(value)}`)

test.each(names)('a change listener that throws does not affect the response: %s', async (name) => {
  const { url, mounted } = await openWith(name)
  let id = 2
  for (const value of [...thrown, notPrinted]) {
    const seen: unknown[] = []
    const remove = [
      mounted.on('change', () => {
        throw value
      }),
      mounted.on('change', (event) => seen.push(event.id)),
    ]
    const path = `POST ${rootOf(name)}/task/`
    const made = await send(url, path, { body: { title: 'new' } })
    const several = await send(url, path, { body: [{ title: 'a' }, { title: 'b' }] })
    for (const one of remove) one()
    // A write that runs again creates a second record.
    expect([value, made.status, several.status, seen]).toEqual([value, 201, 201, [id + 1, id + 2, id + 3]])
    const reports = printed.splice(0).filter((line) => line.includes(textOf(value)))
    expect([value, reports.length]).toEqual([value, value === notPrinted ? 0 : 3])
    id += 3
  }
  expect((await send(url, `GET ${rootOf(name)}/task/?count=exact&limit=0`)).json()).toMatchObject({
    meta: { total: id },
  })
})

test.each(names)('a change listener that rejects does not end the process: %s', async (name) => {
  const { url, mounted } = await openWith(name)
  for (const value of thrown) {
    const remove = mounted.on('change', () => Promise.reject(value))
    const notified = nextNotice()
    expect((await send(url, `POST ${rootOf(name)}/task/`, { body: { title: 'new' } })).status).toBe(201)
    await notified
    expect(printed.splice(0).join()).toContain(textOf(value))
    remove()
  }
})

test.each(names)('a live list is read again after an error: %s', async (name) => {
  const { url, dataSource } = await openWith(name)
  const reader = await EventReader.open(`${url}${rootOf(name)}/task/?fields=title`)
  await reader.take(1)
  const notified = nextNotice()
  failure = { place: 'listener', value: 'a text' }
  await dataSource.getRepository(Task).update({ id: 1 }, { title: 'changed' })
  await notified
  failure = undefined
  await dataSource.getRepository(Task).update({ id: 2 }, { title: 'later' })
  await reader.waitFor('changed')
  await reader.waitFor('later')
  reader.close()
})

test.each(names)('an error event that throws does not change the response to a fault: %s', async (name) => {
  const { url } = await openWith(name)
  failure = { place: 'access rule', value: new Error('no directory') }
  const reply = await send(url, `GET ${rootOf(name)}/task/`)
  expect([reply.status, reply.headers['content-type']]).toEqual([500, 'application/problem+json; charset=utf-8'])
})

const places = ['access rule', 'scope', 'listener']
const nonErrors = places.flatMap((place) =>
  ['a text', null, undefined, { code: 7 }].map((value) => [place, value] as const),
)

test.each(nonErrors)('a fault in the %s: a problem document for the value %j', async (place, value) => {
  const { url, faults } = await openWith('')
  const events: unknown[] = []
  const listener = (event: unknown): void => void events.push(event)
  subscribe('typeorm-resources:fault', listener)
  failure = { place, value }
  for (const request of ['GET /api/task/', 'GET /api/task/1/']) {
    const reply = await send(url, request)
    expect([reply.status, reply.headers['content-type']]).toEqual([500, 'application/problem+json; charset=utf-8'])
    expect(reply.text).not.toContain('a text')
  }
  unsubscribe('typeorm-resources:fault', listener)
  expect(events).toEqual(Array(2).fill({ resource: 'task', method: 'GET', name: 'Error' }))
  expect(faults).toHaveLength(2)
  for (const fault of faults)
    expect(fault).toMatchObject({ message: expect.stringContaining(inspect(value)), cause: value })
})

test.each(['a text', undefined, new Error('a text')])(
  'the response to a write does not depend on an error in a related record: %p',
  async (value) => {
    const { url, dataSource } = await openWith("Koa's own listener")
    failure = { place: 'related listener', value }
    const reply = await send(url, 'PATCH /api/task/1/?include=lead', { body: { title: 'written' } })
    expect([reply.status, reply.json()]).toEqual([200, expect.objectContaining({ title: 'written' })])
    expect(await dataSource.getRepository(Task).findOneByOrFail({ id: 1 })).toMatchObject({ title: 'written' })
    expect(printed).toEqual([expect.stringContaining(inspect(value).slice(1, 7))])
  },
)

test('a silent application prints nothing', async () => {
  const { url, app, mounted } = await openWith("Koa's own listener")
  app.silent = true
  mounted.on('change', () => {
    throw new Error('no mail')
  })
  expect((await send(url, 'POST /api/task/', { body: { title: 'new' } })).status).toBe(201)
  expect(printed).toEqual([])
})

test('the error of a listener of the error event is printed too', async () => {
  const { url, mounted } = await openWith('a listener that throws')
  mounted.on('change', () => {
    throw new Error('no mail')
  })
  await send(url, 'POST /api/task/', { body: { title: 'new' } })
  expect(printed).toEqual([
    expect.stringContaining('Error: no mail'),
    expect.stringContaining('Error: the log is full'),
  ])
})

test('the error of a live list is reported without the values of its statement', async () => {
  const world = await openLiveWorld()
  await world.dataSource.getRepository(Project).update({ id: 1 }, { team: 'value-one' })
  const reader = await world.watch('task/?title__ne=value-two', 'ann:value-one')
  await reader.take(1)
  const reported = new Promise<unknown>((resolve) => world.app.once('error', resolve))
  await world.sql('ALTER TABLE "task" RENAME TO "task_x"')
  // A project decides which tasks exist for a user.
  await world.dataSource.getRepository(Project).update({ id: 2 }, { name: 'changed' })
  const fault = await reported
  await world.sql('ALTER TABLE "task_x" RENAME TO "task"')
  await world.close()
  expect(fault).toMatchObject({ name: 'DatabaseError', sql: expect.stringContaining('task') })
  expect(inspect(fault, { depth: 8 })).not.toMatch(/value-(one|two)/)
})
