import Router from '@koa/router'
import Koa from 'koa'
import mount from 'koa-mount'
import { mountResources } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { worldPerTest } from '../support/world-per-test'
import { entities } from '../world/entities'
import { seedWorld, type World, type WorldOptions } from '../world/world'

const openForTest = worldPerTest()
const openFor = (options: WorldOptions): Promise<World> => openForTest({ entities, seed: seedWorld, ...options })

test.each(['/api/v1', '/api/v1/', '/', ''])('prefix %j', async (prefix) => {
  const { url, mounted } = await openFor({ mount: { prefix } })
  const path = prefix.replace(/\/$/, '')
  const reply = await send(url, `GET ${path}/language/?limit=1`)
  expect(reply.json()).toMatchObject({ meta: { next: `${path}/language/?limit=1&page=2` } })
  expect(mounted.resources.find(({ name }) => name === 'language')?.path).toBe(`${path}/language/`)
})

test('under koa-mount, links and Location contain the whole path', async () => {
  const { url } = await openFor({
    mountOn: (app, dataSource) => {
      const inner = new Koa()
      const mounted = mountResources(inner, dataSource)
      app.use(mount('/site', inner))
      return mounted
    },
  })
  const list = await send(url, 'GET /site/api/note/?score=5&limit=1')
  expect(list.json()).toMatchObject({ meta: { next: '/site/api/note/?score=5&limit=1&page=2' } })
  const absolute = await send(url, 'GET http://any.host/site/api/note/?score=5&limit=1')
  expect(absolute.json()).toEqual(list.json())
  const made = await send(url, 'POST /site/api/note/', { as: 'bob', body: { title: 'x', author_id: 1 } })
  expect(made.headers.location).toBe('/site/api/note/11/')
  expect((await send(url, 'GET /api/note/')).status).toBe(404)
})

test('one app can have two mounts with different prefixes and rules', async () => {
  const { url } = await openFor({
    mountOn: (app, dataSource) => {
      mountResources(app, dataSource, { prefix: '/one' })
      return mountResources(app, dataSource, { prefix: '/two', limit: { default: 3, max: 5 } })
    },
  })
  expect((await send(url, 'GET /one/note/')).json()).toMatchObject({ objects: { length: 10 } })
  expect((await send(url, 'GET /two/note/')).json()).toMatchObject({ objects: { length: 3 } })
  expect((await send(url, 'GET /two/note/?limit=6')).status).toBe(400)
  expect((await send(url, 'GET /three/note/')).status).toBe(404)
})

test('the application can have routes before and after the mount', async () => {
  const router = new Router()
  router.get('/api/note/statistics', (context) => {
    context.body = 'before'
  })
  const { url } = await openFor({
    mountOn: (app, dataSource) => {
      app.use(router.routes())
      const mounted = mountResources(app, dataSource)
      app.use((context) => {
        context.body = `after ${context.path} ${JSON.stringify([context['params'], context['captures']])}`
      })
      return mounted
    },
  })
  expect((await send(url, 'GET /api/note/statistics')).text).toBe('before')
  expect((await send(url, 'GET /api/note/1/')).json()).toMatchObject({ id: 1 })
  expect((await send(url, 'GET /api/other/')).text).toBe('after /api/other/ [null,null]')
})

test('the mount reports name, path, fields and rule of each resource, and no hidden fields', async () => {
  const { mounted } = await openFor({})
  expect(mounted.resources.map(({ name, path, rule, owner }) => [name, path, rule, owner])).toEqual([
    ['user', '/api/user/', 'admin', undefined],
    ['note', '/api/note/', 'user, public reading', undefined],
    ['message', '/api/message/', 'user', 'user_id'],
    ['language', '/api/language/', 'read-only', undefined],
    ['word', '/api/word/', 'user, public reading', undefined],
  ])
  const [user] = mounted.resources
  expect(user?.fields.toSorted()).toEqual(['active', 'admin', 'id', 'username'])
  expect(JSON.stringify(mounted)).not.toMatch(/password|email|secret/)
})

test('Rule of a resource: defaultAuth applies to resources without a rule of their own', async () => {
  const { url } = await openFor({ mount: { defaultAuth: permitAll } })
  const body = { code: 'deu', name: 'German' }
  expect((await send(url, 'POST /api/language/', { body })).status).toBe(201)
  expect((await send(url, 'GET /api/user/')).status).toBe(401)
})

test('a resource can be registered without a decorator', async () => {
  const { url } = await openFor({
    mountOn: (app, dataSource) =>
      mountResources(app, dataSource, {
        prefix: '/more',
        resources: [{ entity: 'Vault', name: 'safe', exclude: ['code'] }],
      }),
  })
  expect((await send(url, 'GET /more/safe/')).json()).toMatchObject({ objects: [{ id: 1 }] })
  expect((await send(url, 'GET /more/note/?vault__id=1')).json()).toMatchObject({ objects: [{ id: 10 }] })
  expect((await send(url, 'GET /more/note/?vault__code=x')).status).toBe(400)
})

test('limit: the default page size is at most the maximum page size', async () => {
  const { url } = await openFor({ mount: { limit: { max: 4 } } })
  expect((await send(url, 'GET /api/note/')).json()).toMatchObject({ objects: { length: 4 } })
})

test('resource names are not looked up in Object.prototype', async () => {
  const { url } = await openFor({ mount: { resources: [] } })
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    expect((await send(url, `GET /api/${name}/`)).status).toBe(404)
  }
})
