import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import mount from 'koa-mount'
import { type MountOptions, mountResources, type Principal, type Rule } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from './client'
import { entities } from './world/entities'
import { openWorld, seedWorld, type World } from './world/world'

let world: World
beforeAll(async () => {
  world = await openWorld({ entities, seed: seedWorld })
})
afterAll(() => world.close())

/** The service, as Node's handler of requests. */
function handler(options: MountOptions = {}): RequestHandler {
  const api = new Koa()
  mountResources(api, world.dataSource, options)
  return api.callback()
}

type Ask = (line: string, options?: SendOptions) => Promise<Reply>

/** Serves an Express site for one test. */
async function visit(setUp: (site: express.Express) => void, test: (ask: Ask) => Promise<void>): Promise<void> {
  const site = express()
  setUp(site)
  const server = site.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  try {
    await test((line, options) => send(`http://127.0.0.1:${port}`, line, options))
  } finally {
    server.close()
  }
}

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

const json = '{"title":"é + & = %","author_id":2,"extra":{"a":[1]}}'
const form = 'application/x-www-form-urlencoded'

const parsers: readonly (readonly [string, RequestHandler[]])[] = [
  ['no body parser', []],
  ['express.json and express.urlencoded', [express.json(), express.urlencoded()]],
  ['express.raw', [express.raw({ type: '*/*' })]],
]

describe.each(parsers)('D6 behind %s', (_, before) => {
  const post = async (type: string, body: string | Buffer, more: Readonly<Record<string, string>> = {}) => {
    let reply: Reply | undefined
    const setUp = (site: express.Express): unknown => site.use('/api', ...before, handler({ prefix: '' }))
    await visit(setUp, async (ask) => {
      reply = await ask('POST /api/note/', { as: 'bob', headers: { 'Content-Type': type, ...more }, body })
    })
    return reply
  }

  test.each([
    ['JSON', 'application/json', json],
    ['a form', form, `data=${encodeURIComponent(json)}`],
    [
      'a multipart form',
      'multipart/form-data; boundary=b',
      `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${json}\r\n--b--\r\n`,
    ],
  ])('%s', async (_what, type, body) => {
    const reply = await post(type, body)
    expect([reply?.status, reply?.json()]).toMatchObject([201, { title: 'é + & = %', extra: { a: [1] } }])
  })

  test.each([
    ['an array', 'application/json', '[1]', 400],
    ['a form without data', form, 'title=x', 400],
    ['text', 'text/plain', json, 415],
  ])('%s is refused', async (_what, type, body, status) => {
    expect((await post(type, body))?.status).toBe(status)
  })

  test('a compressed body is refused, though the parser has unpacked it', async () => {
    const reply = await post('application/json', gzipSync(json), { 'Content-Encoding': 'gzip' })
    expect([reply?.status, reply?.json()]).toMatchObject([415, { detail: expect.stringContaining('gzip') }])
  })
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
