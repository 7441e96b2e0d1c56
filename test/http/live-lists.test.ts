import Koa from 'koa'
import mount from 'koa-mount'
import { mountResources } from 'typeorm-resources'
import { send } from '../client'
import { EventReader } from '../support/event-reader'
import { Comment, type LiveWorld, openLiveWorld, Project, Task } from '../support/live-world'

/** Live lists: which events a subscriber receives (specification: Live lists). */

let world: LiveWorld
const readers: EventReader[] = []
beforeEach(async () => {
  world = await openLiveWorld()
})
afterEach(() => world.close())

const reset = ['reset', expect.any(Array)]
const create = async (fields: object = {}, user = 'ann:red'): Promise<number> => {
  const body = { title: 'one', project_id: user.endsWith('red') ? 1 : 2, ...fields }
  const reply = await world.request('POST task/', body, user)
  expect(reply.status).toBe(201)
  return (reply.json() as { id: number }).id
}

test('a subscriber receives the list, and then its changes', async () => {
  const first = await create()
  const stored1 = (await world.request(`GET task/${first}/`)).json()
  const reader = await world.watch('task/')
  expect([reader.status, reader.response.headers['content-type'], reader.response.headers['cache-control']]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store, no-transform',
  ])
  expect(await reader.take(1)).toEqual([['reset', [stored1]]])
  const id = await create()
  const [created] = await reader.take(1)
  const stored = (await world.request(`GET task/${id}/`)).json()
  expect(created).toEqual(['created', stored])
  await world.request(`PATCH task/${id}/`, { title: 'two' })
  expect(await reader.take(1)).toEqual([['updated', { ...(stored as object), title: 'two' }]])
  await world.request(`DELETE task/${id}/`)
  expect(await reader.take(1)).toEqual([['gone', { id }]])
  await world.request(`POST task/${id}/restore/`)
  expect(await reader.take(1)).toEqual([['created', { ...(stored as object), title: 'two' }]])
  expect(world.faults).toEqual([])
})

test.each(['GET', 'HEAD'])('%s of a list and of an item depends on Accept', async (method) => {
  const id = await create()
  for (const path of ['task/', `task/${id}/`]) {
    const { status, headers } = await world.request(`${method} ${path}`)
    expect([path, status, headers.vary]).toEqual([path, 200, 'Accept, Authorization'])
  }
})

test('the list has the order of its parameter', async () => {
  for (const title of ['b', 'c', 'a']) await create({ title })
  const reader = await world.watch('task/?ordering=-title&fields=title')
  const [[name, records] = []] = await reader.take(1)
  expect([name, (records as { title: string }[]).map(({ title }) => title)]).toEqual(['reset', ['c', 'b', 'a']])
})

test('a record that begins or stops to match the filters is created or gone', async () => {
  const reader = await world.watch('task/?done=false&fields=title')
  expect(await reader.take(1)).toEqual([reset])
  const id = await create()
  await world.request(`PATCH task/${id}/`, { done: true })
  await world.request(`PATCH task/${id}/`, { done: false })
  const events = await reader.take(3)
  expect(events).toEqual([
    ['created', { id, title: 'one' }],
    ['gone', { id }],
    ['created', { id, title: 'one' }],
  ])
})

test('a change that the subscriber cannot see causes no event', async () => {
  const reader = await world.watch('task/?fields=title')
  const guest = await world.watch('task/', 'guest:red')
  await Promise.all([reader.take(1), guest.take(1)])
  const id = await create()
  const other = await create({}, 'bob:blue')
  expect([(await reader.take(1)).length, (await guest.take(1)).length]).toEqual([1, 1])
  await world.request(`PATCH task/${id}/`, { secret: 'changed' })
  await world.request(`PATCH task/${id}/`, { cost: 5 })
  await world.request(`PATCH task/${other}/`, { title: 'changed' }, 'bob:blue')
  await world.request(`DELETE task/${other}/`, undefined, 'bob:blue')
  expect([await reader.takeNone(), await guest.takeNone()]).toEqual([[], []])
})

test('a record that leaves the row scope is gone, and its new content is not shown', async () => {
  const id = await create()
  const reader = await world.watch('task/')
  expect(await reader.take(1)).toEqual([reset])
  await world.dataSource.getRepository(Task).update(id, { title: 'new', project: { id: 2 } })
  expect(await reader.take(1)).toEqual([['gone', { id }]])
})

test.each([
  [
    'a record of a filter',
    'task/?project__name=',
    async () => world.request('PATCH project/1/', { name: 'new' }),
    'gone',
  ],
  ['the row scope', 'task/', async () => world.request('PATCH project/1/', { team: 'new' }), 'gone'],
  ['a cascading deletion', 'task/', async () => world.dataSource.getRepository(Project).delete(1), 'gone'],
  [
    'an included record',
    'task/?include=project',
    async () => world.request('PATCH project/1/', { name: 'new' }),
    'updated',
  ],
  [
    'an included list',
    'task/?include=comments',
    async () => world.request('POST comment/', { text: 'x', task_id: 1 }),
    'updated',
  ],
  [
    'an included many-to-many relation',
    'task/?include=labels',
    async () => world.request('PATCH task/1/', { label_ids: [2] }),
    'updated',
  ],
])('a list changes by a change of %s', async (_, path, change, name) => {
  await create()
  const reader = await world.watch(path)
  expect(await reader.take(1)).toEqual([reset])
  await change()
  expect((await reader.take(1)).map(([event]) => event)).toEqual([name])
})

test('changes that the application makes with TypeORM are reported after their commit', async () => {
  const reader = await world.watch('task/?fields=title,done')
  expect(await reader.take(1)).toEqual([reset])
  const repository = world.dataSource.getRepository(Task)
  const task = await repository.save({ title: 'saved', project: { id: 1 } })
  const { id } = task
  expect(await reader.take(1)).toEqual([['created', { id, title: 'saved', done: false }]])
  await repository.update({ title: 'saved' }, { done: true })
  expect(await reader.take(1)).toEqual([['updated', { id, title: 'saved', done: true }]])
  await world.dataSource.transaction(async (manager) => {
    await manager.update(Task, id, { title: 'later' })
    expect(await reader.takeNone()).toEqual([])
  })
  expect(await reader.take(1)).toEqual([['updated', { id, title: 'later', done: true }]])
  await world.dataSource
    .transaction(async (manager) => {
      await manager.save(Task, { id, title: 'never' })
      throw new Error('rolled back')
    })
    .catch(() => undefined)
  await repository.softRemove(task)
  await repository.recover(task)
  await repository.delete(id)
  const last = await repository.save({ title: 'last', project: { id: 1 } })
  await reader.waitFor('last')
  const events = await reader.takeNone()
  expect(events).toContainEqual(['created', { id: last.id, title: 'last', done: false }])
  expect(events.filter((event) => JSON.stringify(event).includes(`"id":${id}`)).at(-1)).toEqual(['gone', { id }])
  expect(JSON.stringify(events)).not.toContain('never')
})

test('an item has the same events', async () => {
  const [id, other] = [await create(), await create()]
  const reader = await world.watch(`task/${id}/?fields=title`)
  expect(await reader.take(1)).toEqual([['reset', [{ id, title: 'one' }]]])
  await world.request(`PATCH task/${other}/`, { title: 'other' })
  await world.request(`PATCH task/${id}/`, { title: 'two' })
  await world.request(`DELETE task/${id}/`)
  expect(await reader.take(2)).toEqual([
    ['updated', { id, title: 'two' }],
    ['gone', { id }],
  ])
  expect((await world.watch('task/999/')).status).toBe(404)
  expect((await world.watch(`task/${other}/`, 'bob:blue')).status).toBe(404)
})

test('bulk writes, imports and batches are reported record by record', async () => {
  const reader = await world.watch('task/?fields=title')
  expect(await reader.take(1)).toEqual([reset])
  const records = Array.from({ length: 50 }, (_, index) => ({ title: `t${index}`, project_id: 1 }))
  expect((await world.request('POST task/', records)).status).toBe(201)
  expect((await reader.take(50)).map(([name]) => name)).toEqual(Array(50).fill('created'))
  await world.request('PATCH task/?title__like=t1%25', { title: 'changed' })
  expect((await reader.take(11)).length).toBe(11)
  await world.request('DELETE task/?title=changed')
  expect((await reader.take(11)).map(([name]) => name)).toEqual(Array(11).fill('gone'))
})

test('after a change of very many records, subscribers receive the whole list', async () => {
  const reader = await world.watch('task/?fields=title')
  expect(await reader.take(1)).toEqual([reset])
  const records = Array.from({ length: 600 }, (_, index) => ({ title: `t${index}`, project_id: 1 }))
  await world.request('POST task/', records)
  const [event] = await reader.take(1)
  expect(event).toEqual(reset)
  expect(event?.[1]).toHaveLength(600)
  expect(await reader.takeNone()).toEqual([])
})

test.each([
  ['task/?limit=5&page=2', 'limit'],
  ['task/?nothing=1', 'nothing'],
  ['task/?secret=x', 'secret'],
])('GET %s is refused with 400', async (path, name) => {
  const reader = await world.watch(path)
  await reader.waitForClose()
  const { errors } = JSON.parse(reader.body) as { errors: { field: string }[] }
  expect([reader.status, errors.map(({ field }) => field)]).toEqual([400, expect.arrayContaining([name])])
})

test('credentials are required as for the list', async () => {
  const reader = await world.watch('task/', '')
  expect(reader.status).toBe(401)
})

test('a change is reported even if the SHA-256 digests of both states begin with the same 48 bits', async () => {
  const [before, after] = ['07784c727f51', '129e7a55e20b']
  const id = await create({ title: before })
  const reader = await world.watch('task/?fields=id,title')
  expect(await reader.take(1)).toEqual([['reset', [{ id, title: before }]]])
  await world.request(`PATCH task/${id}/`, { title: after })
  expect(await reader.take(1, 5_000)).toEqual([['updated', { id, title: after }]])
})

test('links of included lists begin with the prefix of each subscriber, if the service has several', async () => {
  const mounted = await openLiveWorld(
    {},
    {
      mountOn: (app, dataSource) => {
        const inner = new Koa()
        const resources = mountResources(inner, dataSource, { live: true })
        for (const prefix of ['/one', '/two']) app.use(mount(prefix, inner))
        return resources
      },
    },
  )
  try {
    const body = { title: 'one', project_id: 1 }
    const headers = { 'X-User': 'ann:red' }
    expect((await send(mounted.url, 'POST /one/api/task/', { body, headers })).status).toBe(201)
    await mounted.dataSource.getRepository(Comment).insert(['a', 'b'].map((text) => ({ text, task: { id: 1 } })))
    for (const prefix of ['/one', '/two']) {
      const url = `${mounted.url}${prefix}/api/task/?fields=id&include=comments(limit:1)`
      const reader = await EventReader.open(url, headers)
      readers.push(reader)
      expect(await reader.take(1)).toEqual([
        ['reset', [{ id: 1, comments: [expect.anything()], comments_next: expect.stringMatching(`^${prefix}/api/`) }]],
      ])
    }
  } finally {
    for (const reader of readers.splice(0)) reader.close()
    await mounted.close()
  }
})
