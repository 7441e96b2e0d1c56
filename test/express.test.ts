import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import mount from 'koa-mount'
import { type MountOptions, mountResources, type Principal, type Rule } from 'typeorm-resources'
import { handlerOf, visit } from './express-site'
import { entities } from './world/entities'
import { openWorld, seedWorld, type World } from './world/world'

let world: World
beforeAll(async () => {
  world = await openWorld({ entities, seed: seedWorld })
})
afterAll(() => world.close())

const handler = (options?: MountOptions): RequestHandler => handlerOf(world.dataSource, options)

const nested = (): express.Router => express.Router().use('/b', handler({ prefix: '' }))
const behindKoaMount = (): RequestHandler => {
  const outer = new Koa()
  const inner = new Koa()
  mountResources(inner, world.dataSource)
  return outer.use(mount('/inner', inner)).callback()
}

const places: readonly (readonly [what: string, setUp: (site: express.Express) => void, root: string])[] = [
  ['at a path', (site) => site.use('/api', handler({ prefix: '' })), '/api'],
  ['at a path, with a prefix', (site) => site.use('/site', handler()), '/site/api'],
  ['without a path', (site) => site.use(handler()), '/api'],
  ['at the path of a parameter', (site) => site.use('/of/:tenant', handler({ prefix: '' })), '/of/me%20too'],
  ['in a router', (site) => site.use('/a', nested()), '/a/b'],
  ['behind koa-mount', (site) => site.use('/site', behindKoaMount()), '/site/inner/api'],
]

describe.each(places)('an Express site with the service %s', (_, setUp, root) => {
  test('has whole paths in links, in absolute form too', () =>
    visit(setUp, async (ask) => {
      const next = `${root}/note/?score=5&limit=1&page=2`
      const list = await ask(`GET ${root}/note/?score=5&limit=1`)
      expect(list.json()).toMatchObject({ meta: { next } })
      expect((await ask(`GET http://any.host${root}/note/?score=5&limit=1`)).json()).toEqual(list.json())
    }))

  test('has the whole path in Location, which leads to the record', () =>
    visit(setUp, async (ask) => {
      const made = await ask(`POST ${root}/note/`, { as: 'bob', body: { title: 'x', author_id: 1 } })
      const { location } = made.headers
      expect([made.status, location]).toEqual([201, expect.stringMatching(`^${root}/note/\\d+/$`)])
      expect((await ask(`GET ${location}`)).json()).toMatchObject({ title: 'x' })
    }))

  test('describes itself where it is', () =>
    visit(setUp, async (ask) => {
      expect((await ask(`GET ${root}/openapi.json`)).json()).toMatchObject({ servers: [{ url: root }] })
      for (const start of [root, `${root}/`, `${root}?x=1`]) {
        expect((await ask(`GET ${start}`)).json()).toMatchObject({ openapi: `${root}/openapi.json` })
      }
      expect((await ask(`GET ${root}/docs/`)).text).toContain(`data-root="${root}"`)
    }))

  test('answers 404 for what is not ours', () =>
    visit(setUp, async (ask) => {
      expect((await ask(`GET ${root}/other/`)).status).toBe(404)
    }))
})

test('a rule finds the user that Express knows of', () =>
  visit(
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
    async (ask) => {
      const statusFor = async (token: string) =>
        (await ask('GET /api/own/safe/', { headers: { 'X-Token': token } })).status
      expect([await statusFor('bob'), await statusFor('eve')]).toEqual([200, 401])
    },
  ))

test('headers that Express has set are kept, and Vary is completed', () =>
  visit(
    (site) => {
      site.use((_request, response, next) => {
        response.set('X-Own', 'yes').vary('Origin')
        next()
      })
      site.use('/api', handler({ prefix: '' }))
    },
    async (ask) => {
      const { headers } = await ask('GET /api/note/1/')
      expect([headers['x-own'], headers.vary]).toEqual(['yes', 'Origin, Authorization'])
    },
  ))

test.each([
  [true, 201],
  [false, 403],
])('behind a proxy, with trust proxy in Express and api.proxy %s, a write of our own page is %i', (proxy, status) =>
  visit(
    (site) => {
      const api = new Koa({ proxy })
      mountResources(api, world.dataSource, { prefix: '' })
      site.set('trust proxy', true).use('/api', api.callback())
    },
    async (ask) => {
      const headers = { Origin: 'https://own.example.org', 'X-Forwarded-Host': 'own.example.org' }
      const made = await ask('POST /api/note/', { as: 'bob', headers, body: { title: 'x', author_id: 1 } })
      expect(made.status).toBe(status)
    },
  ),
)

test('the description is written once, however a client spells the path, which Express reads without regard to case', async () => {
  let written = 0
  const contact = {
    get name() {
      written += 1
      return 'somebody'
    },
  }
  await visit(
    (site) => site.use('/somewhere', handler({ prefix: '', info: { contact } })),
    async (ask) => {
      const tags = new Set<unknown>()
      for (let spelling = 0; spelling < 2 ** 6; spelling += 1) {
        const letters = [...'somewhere'].map((letter, index) =>
          (spelling >> index) & 1 ? letter.toUpperCase() : letter,
        )
        const root = `/${letters.join('')}`
        const reply = await ask(`GET ${root}/openapi.json`)
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
