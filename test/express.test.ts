import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import mount from 'koa-mount'
import { type MountOptions, mountResources, type Principal, type Rule } from 'typeorm-resources'
import { handlerOf, withExpress } from './express-site'
import { entities } from './world/entities'
import { openWorld, seedWorld, type World } from './world/world'

let world: World
beforeAll(async () => {
  world = await openWorld({ entities, seed: seedWorld })
})
afterAll(() => world.close())

const handler = (options?: MountOptions): RequestHandler => handlerOf(world.dataSource, options)

const nested = (): express.Router => express.Router().use('/b', handler({ prefix: '' }))
const insideKoaMount = (): RequestHandler => {
  const outer = new Koa()
  const inner = new Koa()
  mountResources(inner, world.dataSource)
  return outer.use(mount('/inner', inner)).callback()
}

const locations: readonly (readonly [what: string, setUp: (site: express.Express) => void, root: string])[] = [
  ['at a path', (site) => site.use('/api', handler({ prefix: '' })), '/api'],
  ['at a path, with a prefix', (site) => site.use('/site', handler()), '/site/api'],
  ['without a path', (site) => site.use(handler()), '/api'],
  ['at the path of a parameter', (site) => site.use('/of/:tenant', handler({ prefix: '' })), '/of/me%20too'],
  ['in a router', (site) => site.use('/a', nested()), '/a/b'],
  ['inside koa-mount', (site) => site.use('/site', insideKoaMount()), '/site/inner/api'],
]

describe.each(locations)('an Express site with the service %s', (_, setUp, root) => {
  test('links contain the whole path, as do absolute links', () =>
    withExpress(setUp, async (request) => {
      const next = `${root}/note/?score=5&limit=1&page=2`
      const list = await request(`GET ${root}/note/?score=5&limit=1`)
      expect(list.json()).toMatchObject({ meta: { next } })
      expect((await request(`GET http://any.host${root}/note/?score=5&limit=1`)).json()).toEqual(list.json())
    }))

  test('Location contains the whole path of the record', () =>
    withExpress(setUp, async (request) => {
      const made = await request(`POST ${root}/note/`, { as: 'bob', body: { title: 'x', author_id: 1 } })
      const { location } = made.headers
      expect([made.status, location]).toEqual([201, expect.stringMatching(`^${root}/note/\\d+/$`)])
      expect((await request(`GET ${location}`)).json()).toMatchObject({ title: 'x' })
    }))

  test('the OpenAPI document contains the path of the service', () =>
    withExpress(setUp, async (request) => {
      expect((await request(`GET ${root}/openapi.json`)).json()).toMatchObject({ servers: [{ url: root }] })
      for (const start of [root, `${root}/`, `${root}?x=1`]) {
        expect((await request(`GET ${start}`)).json()).toMatchObject({ openapi: `${root}/openapi.json` })
      }
      expect((await request(`GET ${root}/docs/`)).text).toContain(`data-root="${root}"`)
    }))

  test('responds with 404 to paths outside of the service', () =>
    withExpress(setUp, async (request) => {
      for (const path of ['/other/', '/note/#x', '/note/?limit=1#x', '/note/\\1']) {
        expect([path, (await request(`GET ${root}${path}`)).status]).toEqual([path, 404])
      }
    }))
})

test('an access rule can read the user that Express middleware has set', () =>
  withExpress(
    (site) => {
      site.use((request, _response, next) => {
        const user = request.get('X-Token') === 'bob' ? { id: 2 } : undefined
        next(Object.assign(request, { user }) && undefined)
      })
      const auth: Rule = ({ context }) => (context.req as { user?: Principal }).user
      site.use(
        '/api',
        handler({ prefix: '/own', resources: [{ entity: 'Vault', name: 'safe', exclude: ['code'], auth }] }),
      )
    },
    async (request) => {
      const statusFor = async (token: string) =>
        (await request('GET /api/own/safe/', { headers: { 'X-Token': token } })).status
      expect([await statusFor('bob'), await statusFor('eve')]).toEqual([200, 401])
    },
  ))

test('headers that Express has set are kept, and Vary is extended', () =>
  withExpress(
    (site) => {
      site.use((_request, response, next) => {
        response.set('X-Own', 'yes').vary('Origin')
        next()
      })
      site.use('/api', handler({ prefix: '' }))
    },
    async (request) => {
      const { headers } = await request('GET /api/note/1/')
      expect([headers['x-own'], headers.vary]).toEqual(['yes', 'Origin, Authorization'])
    },
  ))

test.each([
  [true, 201],
  [false, 403],
])('after a proxy, with trust proxy in Express and api.proxy %s, a same-origin write is %i', (proxy, status) =>
  withExpress(
    (site) => {
      const api = new Koa({ proxy })
      mountResources(api, world.dataSource, { prefix: '' })
      site.set('trust proxy', true).use('/api', api.callback())
    },
    async (request) => {
      const headers = { Origin: 'https://own.example.org', 'X-Forwarded-Host': 'own.example.org' }
      const made = await request('POST /api/note/', { as: 'bob', headers, body: { title: 'x', author_id: 1 } })
      expect(made.status).toBe(status)
    },
  ),
)

test('the OpenAPI document is generated once for all spellings of a path, which Express matches case-insensitively', async () => {
  let written = 0
  const contact = {
    get name() {
      written += 1
      return 'somebody'
    },
  }
  await withExpress(
    (site) => site.use('/somewhere', handler({ prefix: '', info: { contact } })),
    async (request) => {
      const tags = new Set<unknown>()
      for (let spelling = 0; spelling < 2 ** 6; spelling += 1) {
        const letters = [...'somewhere'].map((letter, index) =>
          (spelling >> index) & 1 ? letter.toUpperCase() : letter,
        )
        const root = `/${letters.join('')}`
        const reply = await request(`GET ${root}/openapi.json`)
        expect([reply.status, reply.json()]).toMatchObject([
          200,
          { servers: [{ url: root }], info: { contact: { name: 'somebody' } } },
        ])
        tags.add(reply.headers.etag)
      }
      expect(tags.size).toBe(2 ** 6)
    },
  )
  expect(written).toBe(1)
})
