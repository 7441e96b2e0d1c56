import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { LoginLimiter, MountOptions } from 'typeorm-resources'
import { basic, type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

let world: World
afterEach(() => world.close())

const open = async (failedLogins: MountOptions['failedLogins'], more: MountOptions = {}): Promise<void> => {
  world = await openWorld({
    mount: { ...more, failedLogins: failedLogins as object },
    source: { logging: ['warn'] },
    before: (app) => {
      app.proxy = true
    },
  })
}

/** Limiter of three failures. */
const three = (): RateLimiterMemory => new RateLimiterMemory({ points: 3, duration: 60 })

const login = (
  name: string,
  password: string,
  address = '192.0.2.1',
  line = 'GET /api/message/?limit=1',
): Promise<Reply> =>
  send(world.url, line, { headers: { Authorization: basic(name, password), 'X-Forwarded-For': address } })

const statuses = async (count: number, attempt: (index: number) => Promise<Reply>): Promise<readonly number[]> => {
  const result: number[] = []
  for (let index = 0; index < count; index++) result.push((await attempt(index)).status)
  return result
}

test.each(['bob', 'carl', 'nobody'])(
  'after three failures, logins as %s are refused, from every address',
  async (name) => {
    await open({ byName: three() })
    expect(await statuses(5, (index) => login(name, 'wrong', `192.0.2.${index}`))).toEqual([401, 401, 401, 429, 429])
    const reply = await login(name, name, '198.51.100.1')
    expect(reply.json()).toEqual({
      type: 'urn:typeorm-resources:too-many-requests',
      title: 'Too many failed logins',
      status: 429,
      detail: 'too many wrong passwords; try again later',
    })
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(50)
    expect((await login('ann', 'ann')).status).toBe(200)
  },
)

test('after three failures, logins from an address are refused, as every user', async () => {
  await open({ byAddress: three() })
  const names = ['bob', 'nobody', 'ann', 'bob']
  expect(await statuses(4, (index) => login(names[index] ?? '', 'wrong'))).toEqual([401, 401, 401, 429])
  expect((await login('ann', 'ann')).status).toBe(429)
  expect((await login('ann', 'ann', '192.0.2.2')).status).toBe(200)
})

test('the addresses of an IPv6 network count as one', async () => {
  await open({ byAddress: three() })
  const attempt = (index: number) => login('bob', 'wrong', `2001:db8:1:2::${index + 1}`)
  expect(await statuses(4, attempt)).toEqual([401, 401, 401, 429])
  expect((await login('bob', 'bob', '2001:db8:1:3::1')).status).toBe(200)
})

test('correct passwords consume nothing and reset nothing', async () => {
  await open({ byName: three(), byAddress: three() })
  expect(await statuses(6, () => login('ann', 'ann'))).toEqual([200, 200, 200, 200, 200, 200])
  expect(await statuses(2, () => login('ann', 'wrong'))).toEqual([401, 401])
  expect(await statuses(2, () => login('ann', 'ann'))).toEqual([200, 200])
  expect(await statuses(2, () => login('ann', 'wrong'))).toEqual([401, 429])
})

test('passwords that are sent at the same time are counted before the next one is checked', async () => {
  await open({ byName: three() }, { limits: { concurrentPasswords: 1 } })
  const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => login('bob', `guess ${index}`)))
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(3)
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(17)
})

test('requests without a password to check are not limited', async () => {
  await open({ byName: three(), byAddress: three() })
  await statuses(4, () => login('bob', 'wrong'))
  for (const headers of [{}, { Authorization: 'Basic !' }]) {
    const forwarded = { ...headers, 'X-Forwarded-For': '192.0.2.1' }
    expect((await send(world.url, 'GET /api/message/', { headers: forwarded })).status).toBe(401)
    expect((await send(world.url, 'GET /api/note/', { headers: forwarded })).status).toBe(200)
  }
})

test('wrong old passwords of a change count too', async () => {
  await open({ byName: three() }, { passwordChange: true })
  const change = (old: string) => send(world.url, 'POST /api/-/password', { as: 'bob', body: { old, new: 'x' } })
  expect(await statuses(4, () => change('wrong'))).toEqual([400, 400, 400, 429])
  expect((await change('bob')).status).toBe(429)
})

test('a former password is refused, and not counted', async () => {
  await open({ byName: three() }, { passwordChange: true })
  expect((await login('bob', 'bob')).status).toBe(200)
  const body = { old: 'bob', new: 'changed' }
  expect((await send(world.url, 'POST /api/-/password', { as: 'bob', body })).status).toBe(204)
  expect(await statuses(5, () => login('bob', 'bob'))).toEqual([401, 401, 401, 401, 401])
  expect((await login('bob', 'changed')).status).toBe(200)
  expect(await statuses(4, () => login('bob', 'wrong'))).toEqual([401, 401, 401, 429])
})

test('failures are forgotten after the duration, and an application can forget those of a name', async () => {
  const byName = new RateLimiterMemory({ points: 1, duration: 2 })
  await open({ byName })
  expect(await statuses(2, () => login('bob', 'wrong'))).toEqual([401, 429])
  await byName.delete(createHash('sha256').update('bob').digest('base64url'))
  expect(await statuses(2, () => login('bob', 'bob'))).toEqual([200, 200])
  expect(await statuses(2, () => login('bob', 'wrong'))).toEqual([401, 429])
  await setTimeout(2100)
  expect((await login('bob', 'bob')).status).toBe(200)
})

test.each<[string, LoginLimiter['get']]>([
  ['fails', () => Promise.reject(new Error('connect ECONNREFUSED'))],
  [
    'throws',
    () => {
      throw new Error('closed')
    },
  ],
  ['does not answer', () => new Promise(() => undefined)],
])('a store that %s limits nothing', async (_, ask) => {
  await open({ byName: { points: 1, get: ask, consume: ask } })
  expect(await statuses(3, () => login('bob', 'wrong'))).toEqual([401, 401, 401])
  expect((await login('bob', 'bob')).status).toBe(200)
  expect(world.faults).toEqual([])
})

test('the OpenAPI document has the response, for operations that need a login', async () => {
  await open({ byName: three() })
  const { paths, components } = Object((await send(world.url, 'GET /api/openapi.json')).json())
  expect(paths['/message'].get.responses[429]).toEqual({ $ref: '#/components/responses/429' })
  expect(paths['/note'].get.responses).not.toHaveProperty('429')
  expect(components.responses[429]).toMatchObject({ headers: { 'Retry-After': { schema: { type: 'integer' } } } })
})
