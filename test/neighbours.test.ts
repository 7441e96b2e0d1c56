import cors from '@koa/cors'
import type Koa from 'koa'
import compress from 'koa-compress'
import helmet from 'koa-helmet'
import ratelimit from 'koa-ratelimit'
import { type MountOptions, mountResources } from 'typeorm-resources'
import { send } from './client'
import { entities } from './world/entities'
import { openWorld, seedWorld, type World } from './world/world'

const open: World[] = []
const openAfter = async (middleware: readonly Koa.Middleware[], mount: MountOptions = {}): Promise<World> => {
  const before = (app: Koa): void => {
    for (const one of middleware) app.use(one)
  }
  const world = await openWorld({ entities, seed: seedWorld, before, mount })
  open.push(world)
  return world
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((world) => world.close()))
})

const origin = 'https://admin.example.org'
const named = cors({ origin: (context) => (context.get('Origin') === origin ? origin : '') })
const note = { title: 'x', author_id: 1 }
const preflight = { headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT' } }

describe('cross-origin requests', () => {
  test.each([
    ['with @koa/cors alone, other origins can read', [named], {}, 403, origin],
    ['with allowedOrigins alone, other origins can write', [], { allowedOrigins: [origin] }, 201, undefined],
    ['with both, other origins can read and write', [named], { allowedOrigins: [origin] }, 201, origin],
  ])('%s', async (_, middleware, mount, status, allowed) => {
    const { url } = await openAfter(middleware, mount)
    const made = await send(url, 'POST /api/note/', { as: 'bob', headers: { Origin: origin }, body: note })
    expect([made.status, made.headers['access-control-allow-origin']]).toEqual([status, allowed])
    const response = await send(url, 'OPTIONS /api/note/1/', preflight)
    expect([response.status, response.headers['access-control-allow-origin']]).toEqual([204, allowed])
  })

  test.each([
    ['401', 'GET /api/user/'],
    ['404', 'GET /api/note/999/'],
    ['400', 'GET /api/note/?nope=1'],
  ])(
    'with @koa/cors a refusal (%s) can be read from a listed origin, and not from another one',
    async (status, line) => {
      const { url } = await openAfter([named])
      const reply = await send(url, line, { headers: { Origin: origin } })
      expect([String(reply.status), reply.headers['access-control-allow-origin']]).toEqual([status, origin])
      const other = await send(url, line, { headers: { Origin: 'https://evil.example.org' } })
      expect(other.headers['access-control-allow-origin']).toBeUndefined()
    },
  )
})

const helmetPolicy = "default-src 'self'"
const servicePolicy = "default-src 'none'"
const sandbox: Koa.Middleware = async (context, next) => {
  await next()
  context.set('Content-Security-Policy', 'sandbox')
}

test.each([
  ['a record has the policy of koa-helmet', [helmet()], '/api/note/1/', helmetPolicy],
  ['a refusal has the policy of koa-helmet', [helmet()], '/api/user/', helmetPolicy],
  ['Swagger UI has the policy of the service', [helmet()], '/api/docs/', servicePolicy],
  ['the explorer has the policy of the service', [helmet()], '/api/', servicePolicy],
  ['a policy that is set after next() is kept on pages', [sandbox, helmet()], '/api/', 'sandbox'],
])('Content-Security-Policy: %s', async (_, middleware, path, policy) => {
  const { url } = await openAfter(middleware)
  const { headers } = await send(url, `GET ${path}`, { headers: { Accept: 'text/html' } })
  expect(headers['content-security-policy']).toMatch(new RegExp(`^${policy}`))
  expect(headers['x-content-type-options']).toBe('nosniff')
})

test('koa-helmet after the mount is not called', async () => {
  const world = await openWorld({
    mountOn: (app, dataSource) => {
      const mounted = mountResources(app, dataSource)
      app.use(helmet())
      return mounted
    },
  })
  open.push(world)
  expect((await send(world.url, 'GET /api/note/1/')).headers['content-security-policy']).toBeUndefined()
  expect((await send(world.url, 'GET /other/')).headers['content-security-policy']).toMatch(helmetPolicy)
})

describe.each(['gzip', 'br', 'deflate'])('koa-compress with %s', (encoding) => {
  const plain = { 'Accept-Encoding': 'identity' }
  const packed = { 'Accept-Encoding': encoding }
  const get = async (path: string, headers: Record<string, string>) => {
    const { url } = open.at(-1) ?? (await openAfter([compress({ threshold: 0 })]))
    const reply = await fetch(`${url}${path}`, { headers })
    const [tag, coding, vary] = ['ETag', 'Content-Encoding', 'Vary'].map((name) => reply.headers.get(name))
    return { status: reply.status, text: await reply.text(), tag, coding, vary }
  }

  test.each(['/api/note/1/', '/api/note/', '/api/openapi.json'])(
    '%s has the same body and ETag with and without compression',
    async (path) => {
      const [one, other] = [await get(path, plain), await get(path, packed)]
      expect([one.coding, other.coding]).toEqual([null, encoding])
      expect(other).toEqual({ ...one, coding: encoding })
      expect(other.vary).toBe('Accept-Encoding, Authorization')
    },
  )

  test.each([
    ['compressed', packed, plain],
    ['uncompressed', plain, packed],
  ])('a strong ETag that was received %s holds for the other encoding', async (_, first, then) => {
    const { tag } = await get('/api/note/1/', first)
    expect(tag).toMatch(/^"/)
    const same = await get('/api/note/1/', { ...then, 'If-None-Match': String(tag) })
    expect([same.status, same.text, same.coding]).toEqual([304, '', null])
    const put = (match: string) => {
      const headers = { ...then, 'If-Match': match }
      return send(open.at(-1)?.url ?? '', 'PUT /api/note/1/', { as: 'bob', headers, body: { title: 'y' } })
    }
    expect((await put(`W/${tag}`)).status).toBe(412)
    expect((await put(String(tag))).status).toBe(200)
  })
})

const limited = (db: Map<string, unknown> | undefined): Koa.Middleware =>
  ratelimit({ driver: 'memory', db: db as Map<string, unknown>, duration: 60_000, max: 2, id: (context) => context.ip })

test.each([
  ['counts', new Map(), [200, 200, 429, 429]],
  ['without a map counts nothing', undefined, [200, 200, 200, 200]],
])('koa-ratelimit %s', async (_, db, expected) => {
  const { url } = await openAfter([limited(db)])
  const statuses: number[] = []
  for (const _one of expected) statuses.push((await send(url, 'GET /api/note/1/')).status)
  expect(statuses).toEqual(expected)
})

test('koa-ratelimit after @koa/cors does not count preflights, and its 429 can be read by other origins', async () => {
  const { url } = await openAfter([named, limited(new Map())])
  for (let time = 0; time < 5; time++) expect((await send(url, 'OPTIONS /api/note/1/', preflight)).status).toBe(204)
  const request = () => send(url, 'GET /api/note/1/', { headers: { Origin: origin } })
  await request()
  await request()
  const refused = await request()
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([429, origin])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
})
