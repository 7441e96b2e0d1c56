import { type SendOptions, send } from '../client'
import { openWorld, type World } from '../world/world'

const allowedOrigin = 'https://admin.example.org'
let world: World
beforeAll(async () => {
  world = await openWorld({ mount: { allowedOrigins: [allowedOrigin] } })
})
afterAll(() => world.close())

const own = (): string => new URL(world.url).host
const note = { title: 'x', author_id: 2 }

/** Headers that a browser adds to a request of some origin, and whether a write is permitted. */
const provenances: readonly (readonly [string, () => Record<string, string>, boolean])[] = [
  ['no browser', () => ({}), true],
  ['a page of the same origin', () => ({ Origin: `http://${own()}`, 'Sec-Fetch-Site': 'same-origin' }), true],
  ['a page of the same origin through a proxy with TLS', () => ({ Origin: `https://${own()}` }), true],
  ['a bookmark or the address bar', () => ({ 'Sec-Fetch-Site': 'none' }), true],
  ['a page that is allowed', () => ({ Origin: allowedOrigin, 'Sec-Fetch-Site': 'cross-site' }), true],
  ['a page of another site', () => ({ Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }), false],
  ['a page of another site in an old browser', () => ({ Origin: 'https://evil.example' }), false],
  ['a form of another site', () => ({ 'Sec-Fetch-Site': 'cross-site' }), false],
  ['a sandboxed page', () => ({ Origin: 'null' }), false],
  ['a sibling host', () => ({ Origin: `http://other.${own()}`, 'Sec-Fetch-Site': 'same-site' }), false],
  ['another port', () => ({ Origin: 'http://127.0.0.1:1' }), false],
  ['an allowed origin with a path', () => ({ Origin: `${allowedOrigin}/` }), false],
  ['two origins', () => ({ Origin: `${allowedOrigin}, https://evil.example` }), false],
  ['nonsense', () => ({ Origin: '::' }), false],
]

const writes: readonly (readonly [string, SendOptions])[] = [
  ['POST /api/note/', { as: 'bob', body: note }],
  ['PUT /api/note/1/', { as: 'bob', body: { score: 5 } }],
  ['PATCH /api/note/1/', { as: 'bob', body: { score: 5 } }],
  ['DELETE /api/message/1/', { as: 'ann' }],
]

test.each(provenances)('a write of %s', async (_, headers, isAllowed) => {
  for (const [line, options] of writes.filter(([line]) => isAllowed === false || !line.startsWith('DELETE'))) {
    const reply = await send(world.url, line, { ...options, headers: headers() })
    if (isAllowed) expect([line, reply.status < 300]).toEqual([line, true])
    else
      expect([line, reply.status, reply.json()]).toMatchObject([
        line,
        403,
        { type: 'urn:typeorm-resources:cross-origin' },
      ])
  }
})

test.each(provenances)('a read of %s is permitted', async (_, headers) => {
  for (const line of ['GET /api/note/1/', 'HEAD /api/note/', 'OPTIONS /api/note/']) {
    expect((await send(world.url, line, { headers: headers() })).status).toBeLessThan(300)
  }
})

test('the access rule is checked before the origin', async () => {
  const headers = { Origin: 'https://evil.example' }
  expect((await send(world.url, 'POST /api/language/', { headers })).status).toBe(401)
  expect((await send(world.url, 'POST /api/note/', { headers, as: 'nobody' })).status).toBe(401)
})

const caching: readonly (readonly [string, SendOptions, string])[] = [
  ['GET /api/note/1/', {}, 'no-cache'],
  ['GET /api/note/', { as: 'bob' }, 'no-cache'],
  ['GET /api/language/', {}, 'no-cache'],
  ['GET /api/user/', { as: 'ann' }, 'private, no-cache'],
  ['HEAD /api/user/1/', { as: 'ann' }, 'private, no-cache'],
  ['GET /api/message/1/', { as: 'bob' }, 'private, no-cache'],
  ['PUT /api/note/1/', { as: 'bob', body: {} }, 'private, no-cache'],
  ['GET /api/user/', {}, 'no-store'],
  ['GET /api/note/999/', {}, 'no-store'],
  ['GET /api/note/?nope=1', {}, 'no-store'],
  ['PUT /api/message/1/', { as: 'bob', body: {} }, 'no-store'],
]
test.each(caching)('%s has the right Cache-Control', async (line, options, expected) => {
  const { headers } = await send(world.url, line, options)
  expect([headers['cache-control'], headers.vary, headers['x-content-type-options']]).toEqual([
    expected,
    'Authorization',
    'nosniff',
  ])
})
