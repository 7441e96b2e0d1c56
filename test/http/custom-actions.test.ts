import { createServer } from 'node:http'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import mount from 'koa-mount'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import {
  ConfigError,
  describeAction,
  mountResources,
  problem,
  Resource,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { type SendOptions, send } from '../client'
import { callTool, connectAgent } from '../support/agent'
import { listen } from '../support/listen'
import { openTracker, type Tracker } from '../support/tracker'
import { unhashed } from '../support/unhashed'
import { createDataSource, dropDatabase } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Custom actions: routes that the application adds to a resource (specification: Custom actions). */

@Entity()
@UserAccount({ username: 'name', ...unhashed })
class Writer {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) name!: string
  @Column() password!: string
}

@Entity()
@Resource({
  auth: userRule(),
  scope: (me) => ({ writer: me.id }),
  fields: { mood: { read: (me) => me.id === 2 } },
})
class Diary {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ nullable: true, type: 'varchar' }) mood!: string | null
  @ManyToOne(() => Writer, { nullable: false }) writer!: Writer
}

const entities = [Writer, Diary]

let world: World
/** The contexts that the middleware after the mount has received. */
const passed: Koa.Context[] = []

beforeAll(async () => {
  world = await openWorld({
    entities,
    columnOrder: 0,
    seed: async (dataSource) => {
      await dataSource.getRepository(Writer).save(['ann', 'bob'].map((name) => ({ name, password: name })))
      const diaries = [1, 1, 2].map((writer, index) => ({ title: `Day ${index}`, writer: { id: writer } }))
      await dataSource.getRepository(Diary).save(diaries)
    },
    mountOn: (app, dataSource) => {
      const mounted = mountResources(app, dataSource, { batch: true, mcp: true })
      app.use((context) => {
        passed.push(context)
        context.body = 'after'
      })
      return mounted
    },
  })
  world.mounted
    .router('diary')
    .get('titles', '/titles/', describeAction({ summary: 'All titles' }), async ({ state, response }) => {
      const found = await state.visible<Diary>().orderBy('diary.id').getMany()
      response.body = { titles: found.map(({ title }) => title), fields: state.view.fields, me: state.principal.id }
    })
    .post('/:id/echo/', bodyParser(), (context) => {
      context.body = { id: context['params'].id, body: context.request.body }
    })
    .put('/refused/', () => {
      throw problem(409, 'the diary is full', { field: 'title' })
    })
    .put('/thrown/', (context) => context.throw(418, 'short and stout'))
    .put('/fault/', () => {
      throw new Error('no title')
    })
    .get('/cached/', (context) => {
      context.set('Cache-Control', 'max-age=60')
      context.body = 'text'
    })
    .get('/passed/', (_, next) => next())
    .delete('/:id/', (context) => {
      context.body = 'replaced'
    })
})
afterAll(() => world.close())

const ask = (line: string, options: SendOptions = {}) => send(world.url, line, { as: 'ann', ...options })

test.each([
  ['ann', { titles: ['Day 0', 'Day 1'], fields: ['id', 'title', 'writer_id'], me: 1 }],
  ['bob', { titles: ['Day 2'], fields: ['id', 'title', 'mood', 'writer_id'], me: 2 }],
])('an action finds the principal %s, the view and the visible records', async (as, expected) => {
  for (const path of ['/api/diary/titles/', '/api/diary/titles']) {
    expect((await ask(`GET ${path}`, { as })).json()).toEqual(expected)
  }
})

test('a body parser and the parameters of the path', async () => {
  const body = { text: 'é' }
  expect((await ask('POST /api/diary/7%2F1/echo/?a=1', { body })).json()).toEqual({ id: '7/1', body })
})

test('OPTIONS lists the methods of a path', async () => {
  const reply = await ask('OPTIONS /api/diary/1/echo/')
  expect([reply.status, reply.headers.allow]).toEqual([204, 'OPTIONS, POST'])
})

test('the response has the headers of all responses of resources', async () => {
  const headers = { vary: 'Authorization', 'x-content-type-options': 'nosniff' }
  const reply = await ask('GET /api/diary/titles/')
  expect(reply.headers).toMatchObject({ ...headers, 'cache-control': 'private, no-cache' })
  expect((await ask('GET /api/diary/cached/')).headers).toMatchObject({ ...headers, 'cache-control': 'max-age=60' })
})

const crossOrigin = { Origin: 'https://evil.example.org' }
test.each<[string, string, SendOptions, number, object | string]>([
  ['without credentials', 'GET /api/diary/titles/', { as: undefined }, 401, 'Authentication failed'],
  ['of an unknown user', 'POST /api/diary/1/echo/', { as: 'eve' }, 401, 'Authentication failed'],
  [
    'of a page of another origin',
    'POST /api/diary/1/echo/',
    { headers: crossOrigin },
    403,
    { title: 'Sent by another origin' },
  ],
  [
    'of another method',
    'PATCH /api/diary/1/echo/',
    {},
    405,
    { detail: 'PATCH is not allowed here; allowed methods: OPTIONS, POST' },
  ],
  [
    'that the action refuses',
    'PUT /api/diary/refused/',
    {},
    409,
    { errors: [{ field: 'title', message: 'the diary is full' }] },
  ],
  ['that the action throws', 'PUT /api/diary/thrown/', {}, 418, 'short and stout'],
])('a request %s', async (_, line, options, status, expected) => {
  const reply = await ask(line, options)
  expect(reply.status).toBe(status)
  if (typeof expected === 'string') expect(reply.text).toBe(expected)
  else expect(reply.json()).toMatchObject({ status, ...expected })
})

test('an error of an action is a fault without details', async () => {
  const reply = await ask('PUT /api/diary/fault/')
  expect([reply.status, reply.json()]).toEqual([500, expect.objectContaining({ title: 'Internal server error' })])
  expect(world.faults).toContainEqual(new Error('no title'))
})

test('paths of actions are case-sensitive', async () => {
  expect((await ask('GET /api/diary/Titles/')).status).toBe(404)
})

test('an action may replace a built-in one; the others stay', async () => {
  expect((await ask('DELETE /api/diary/1/')).text).toBe('replaced')
  expect((await ask('GET /api/diary/1/')).json()).toMatchObject({ id: 1, title: 'Day 0' })
  expect((await ask('PATCH /api/diary/1/', { body: { title: 'New' } })).status).toBe(200)
  expect((await ask('PATCH /api/diary/1/', { body: { title: 'Day 0' } })).status).toBe(200)
})

describe('an action that a route replaces', () => {
  const entries = (as = 'ann') => ask('GET /api/diary/?ordering=id', { as }).then((reply) => reply.json())

  test.each([
    ['DELETE', '/api/diary/1/', undefined],
    ['DELETE', '/api/diary/1', undefined],
    ['PUT', '/api/diary/refused/', { title: 'New' }],
  ])('is refused as the operation %s %s of a batch, and nothing is written', async (method, path, body) => {
    const before = await entries()
    const patch = { method: 'PATCH', path: '/api/diary/2/', body: { title: 'New' } }
    const reply = await ask('POST /api/-/batch', { body: [patch, { method, path, body }] })
    const message = `has a route of the application, which replaces ${method} and cannot be part of a batch; send this operation as a request`
    expect([reply.status, reply.json()]).toEqual([
      400,
      expect.objectContaining({ index: 1, detail: `path ${message}`, errors: [{ field: 'path', message }] }),
    ])
    expect(await entries()).toEqual(before)
  })

  test('is refused as a tool call, and the other tools stay', async () => {
    const before = await entries()
    const agent = await connectAgent(world.url, { Authorization: `Basic ${Buffer.from('ann:ann').toString('base64')}` })
    expect(await callTool(agent, 'delete', { resource: 'diary', id: 1 })).toEqual({
      isError: true,
      text:
        'no tool can send DELETE /api/diary/1/: a route of the application replaces this action; the user must send ' +
        'the request',
    })
    expect(await callTool(agent, 'get', { resource: 'diary', id: 1 })).toMatchObject({ isError: false })
    await agent.close()
    expect(await entries()).toEqual(before)
  })

  test('is only that with the method and path of the route', async () => {
    // Middleware without a method replaces nothing.
    world.mounted.router('diary').use('/2/', (context) => context.throw(418))
    const patch = { method: 'PATCH', path: '/api/diary/2/', body: { title: 'Day 1' } }
    expect((await ask('POST /api/-/batch', { body: [patch] })).status).toBe(200)
  })

  test('is found by its path below koa-mount', async () => {
    const inner = new Koa()
    const mounted = mountResources(inner, world.dataSource, { prefix: '/inner', batch: true })
    mounted.router('diary').delete('/:id/', (context) => context.throw(403))
    const server = createServer(new Koa().use(mount('/outer', inner)).callback())
    const url = await listen(server)
    const body = [{ method: 'DELETE', path: '/outer/inner/diary/1/' }]
    const reply = await send(url, 'POST /outer/inner/-/batch', { as: 'ann', body })
    server.close()
    expect([reply.status, reply.json()]).toEqual([400, expect.objectContaining({ index: 0 })])
  })
})

test('a request that has no route is passed on with an untouched context', async () => {
  for (const path of [
    '/api/diary/1/other/',
    '/api/diary/1/echo/more',
    '/other/diary/titles/',
    '/api/diaries/titles/',
  ]) {
    expect((await ask(`GET ${path}`)).text).toBe('after')
    const [context] = passed.splice(0)
    expect(context?.state).toEqual({})
    for (const name of ['params', 'router', 'matched', 'newRouterPath', 'routeMatched'])
      expect(context).not.toHaveProperty(name)
  }
  expect((await ask('GET /api/diary/passed/')).text).toBe('after')
})

test('the router knows the paths of the built-in actions and of its own', () => {
  const router = world.mounted.router('diary')
  expect(router.url('diary', { id: 7 })).toBe('/api/diary/7/')
  expect(router.url('diary-list')).toBe('/api/diary/')
  expect(router.url('titles')).toBe('/api/diary/titles/')
  const message = `router('diary').url(): no route has the name "other"; names: diary-list, diary, titles`
  expect(() => router.url('other')).toThrow(new TypeError(message))
})

test.each(['late/', ['/late/', 'later/'], '/api/diary/late/'])('a path that no request can have: %p', (path) => {
  expect(() => world.mounted.router('diary').get(path, () => {})).toThrow(
    /^the path "(later?\/|\/api\/diary\/late\/)" must begin with a slash and be relative to \/api\/diary, such as/,
  )
})

test('a described action is in the OpenAPI document, an other one is not', async () => {
  const { paths } = (await ask('GET /api/openapi.json')).json() as { paths: Record<string, Record<string, object>> }
  expect(paths['/diary/titles']).toEqual({
    get: {
      operationId: 'diary.titles',
      tags: ['diary'],
      summary: 'All titles',
      responses: { 200: { description: 'Success' }, 401: expect.anything(), 503: expect.anything() },
      security: [{ basic: [] }],
    },
  })
  expect(Object.keys(paths).filter((path) => path.includes('echo'))).toEqual([])
  world.mounted.router('diary').put('/:id/late/:part/', describeAction({ summary: 'Late' }), () => {})
  const later = (await ask('GET /api/openapi.json')).json() as typeof Object
  expect(later).toMatchObject({
    paths: {
      '/diary/{id}/late/{part}': {
        put: { operationId: 'diary.put_id_late_part', parameters: [{ name: 'id' }, { name: 'part', in: 'path' }] },
      },
    },
  })
})

describe('a name that no resource has', () => {
  test('is a mistake of the call', () => {
    expect(() => world.mounted.router('dairy')).toThrow(
      new TypeError(`router('dairy'): there is no resource "dairy"; resources: diary`),
    )
  })

  test('before the data source is initialized, is a mistake of its initialization', async () => {
    const dataSource = await createDataSource({ entities })
    const mounted = mountResources(new Koa(), dataSource)
    mounted.router('diary').get('/early/', () => {})
    mounted.router('dairy').get('/early/', () => {})
    await expect(dataSource.initialize()).rejects.toThrow(ConfigError)
    await expect(dataSource.initialize()).rejects.toThrow(`router('dairy'): there is no resource "dairy"`)
    await dropDatabase(dataSource)
  })
})

describe('the tracker', () => {
  let tracker: Tracker
  beforeAll(async () => {
    tracker = await openTracker()
  })
  afterAll(() => tracker.close())

  test.each<['ann' | 'bob' | 'eve' | 'fay', number | string, string, number, string | undefined]>([
    ['bob', 1, '241.00', 404, 'there is no such invoice'],
    ['eve', 1, '241.00', 404, 'there is no such invoice'],
    ['fay', 1, '241.00', 404, 'there is no such invoice'],
    ['ann', 'x', '241.00', 404, 'there is no such invoice'],
    ['ann', 2, '80.00', 409, 'the invoice is draft: only sent invoices are paid'],
    ['ann', 1, '241', 400, 'must be 241.00'],
    ['ann', 1, '241.00', 204, undefined],
    ['ann', 1, '241.00', 409, 'the invoice is paid: only sent invoices are paid'],
  ])('%s pays the invoice %s with %s: %i', async (who, id, amount, status, detail) => {
    const reply = await tracker.as(who, `POST invoice/${id}/pay/`, { body: { amount } })
    expect([reply.status, reply.text === '' ? undefined : Object(reply.json()).detail]).toEqual([status, detail])
  })
})
