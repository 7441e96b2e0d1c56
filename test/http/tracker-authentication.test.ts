import { signToken } from '../../sample/tracker/login'
import { basic, type Reply, send } from '../client'
import { openTracker, people, type Tracker } from '../support/tracker'
import { creations, permitted } from '../tables/tracker'

/** The tracker of the sample: passwords, tokens and API keys side by side. */

type Person = (typeof people)[number]
const schemes = ['Basic', 'Bearer', 'ApiKey'] as const
type Scheme = (typeof schemes)[number]

let tracker: Tracker
/** Values of `Authorization` by scheme, in the order of the people. */
const credentials: Record<Scheme, string[]> = { Basic: [], Bearer: [], ApiKey: [] }

const createKey = async (who: Person, body: object = {}): Promise<{ readonly id: number; readonly key: string }> =>
  (await tracker.as(who, 'POST apikey/', { body })).json() as { readonly id: number; readonly key: string }
const logIn = (username: unknown, password: unknown): Promise<Reply> =>
  send(tracker.world.url, 'POST /login', { body: { username, password } })
const sendWith = (authorization: string, line: string, body?: unknown): Promise<Reply> =>
  tracker.as(undefined, line, { headers: { Authorization: authorization }, body })
const credentialsOf = (scheme: Scheme, who: Person): string => credentials[scheme][people.indexOf(who)] ?? ''

beforeAll(async () => {
  tracker = await openTracker()
  for (const who of people) {
    const { access_token } = (await logIn(who, who)).json() as { readonly access_token: string }
    credentials.Basic.push(basic(who))
    credentials.Bearer.push(`Bearer ${access_token}`)
    credentials.ApiKey.push(`ApiKey ${(await createKey(who)).key}`)
  }
})
afterAll(async () => {
  await tracker.close()
  expect(tracker.world.faults).toEqual([])
})

const lines = [
  ...['project/', 'task/?ordering=-id&count=exact', 'project/1/', 'comment/3/', 'invoice/?lines__quantity=1'],
  ...['rate/', 'person/', 'project/?budget__gte=1', 'openapi.json', '-/session', 'apikey/'],
]

test.each(people)('password, token and key of %s get byte-identical responses', async (who) => {
  for (const line of lines) {
    const replies = await Promise.all(schemes.map((scheme) => sendWith(credentialsOf(scheme, who), `GET ${line}`)))
    const seen = replies.map(({ status, text, headers }) => JSON.stringify([status, text, headers.etag]))
    expect([line, ...seen.slice(1)]).toEqual([line, seen[0], seen[0]])
  }
})

const resources = [...new Set(permitted.map(([resource]) => resource))].filter((resource) => resource !== 'apikey')

test.each(schemes)('the table of permissions holds with credentials of %s', async (scheme) => {
  const before = await tracker.rows()
  for (const [index, who] of people.entries()) {
    const authorization = credentialsOf(scheme, who)
    for (const resource of resources) {
      const records = permitted.filter(([name]) => name === resource)
      const visible = records.flatMap(([, id, , ...may]) => (may[index]?.includes('r') ? [id] : []))
      const { objects } = (await sendWith(authorization, `GET ${resource}/`)).json() as { objects: { id: number }[] }
      expect([who, resource, objects.map(({ id }) => id)]).toEqual([who, resource, visible])
      for (const [, id, field, ...cells] of records) {
        const may = cells[index] ?? '-'
        const { status } = await sendWith(authorization, `PUT ${resource}/${id}/`, field)
        const expected = may.includes('u') ? 200 : may === '-' ? 404 : 403
        expect([who, resource, id, status]).toEqual([who, resource, id, expected])
      }
    }
  }
  expect(await tracker.rows()).toEqual(before)
})

test.each(schemes)('the table of creations holds with credentials of %s', async (scheme) => {
  for (const [resource, body, ...statuses] of creations.filter(([name]) => name !== 'apikey')) {
    for (const [index, who] of people.entries()) {
      const reply = await sendWith(credentialsOf(scheme, who), `POST ${resource}/`, body)
      expect([resource, body, who, reply.status]).toEqual([resource, body, who, statuses[index]])
      if (reply.status !== 201) continue
      const { id } = reply.json() as { readonly id: number }
      await tracker.world.sql(`DELETE FROM "${resource}" WHERE "id" = ${id}`)
    }
  }
})

test('a key with permissions can do nothing else', async () => {
  const key = `ApiKey ${tracker.key}`
  const body = { minutes: 5, day: '2026-03-04', task_id: 1 }
  const statuses = async (...requests: readonly (readonly [line: string, body?: unknown])[]) =>
    Promise.all(requests.map(async ([line, value]) => (await sendWith(key, line, value)).status))
  expect(await statuses(['GET project/'], ['HEAD project/1/'], ['GET entry/1/'])).toEqual([200, 200, 200])
  expect(await statuses(['GET task/'], ['PUT entry/1/', {}], ['DELETE entry/1/'])).toEqual([401, 401, 401])
  // Bob sees the task of entry 1, but the key does not.
  expect((await sendWith(credentialsOf('Basic', 'bob'), 'GET entry/?task__title=Draw')).text).toContain('"id":1')
  expect((await sendWith(key, 'GET entry/?task__title=Draw')).json()).toMatchObject({ objects: [] })
  expect(await statuses(['POST apikey/', { name: 'more' }], ['PUT apikey/1/', { permissions: null }])).toEqual([
    401, 401,
  ])
  // The scope of bob still holds.
  expect((await sendWith(key, 'GET project/3/')).status).toBe(404)
  const entry = await sendWith(credentialsOf('Basic', 'bob'), 'POST entry/', body)
  expect(entry.json()).toMatchObject({ person_id: 2 })
  await tracker.world.sql(`DELETE FROM "entry" WHERE "id" = ${(entry.json() as { readonly id: number }).id}`)
})

test('a revoked and an expired key are refused at once; the other credentials still work', async () => {
  const [revoked, expired] = [await createKey('bob'), await createKey('bob')]
  const statusOf = async ({ key }: { readonly key: string }) => (await sendWith(`ApiKey ${key}`, 'GET task/')).status
  expect([await statusOf(revoked), await statusOf(expired)]).toEqual([200, 200])
  expect((await tracker.as('ann', `DELETE apikey/${revoked.id}/`)).status).toBe(404)
  await tracker.as('bob', `DELETE apikey/${revoked.id}/`)
  await tracker.as('bob', `PATCH apikey/${expired.id}/`, { body: { expires: '2020-01-01T00:00:00Z' } })
  expect([await statusOf(revoked), await statusOf(expired)]).toEqual([401, 401])
  for (const scheme of schemes) expect((await sendWith(credentialsOf(scheme, 'bob'), 'GET task/')).status).toBe(200)
})

test('expired tokens, and tokens of nobody, are refused', async () => {
  expect((await sendWith(`Bearer ${await signToken(2, 60)}`, 'GET task/')).status).toBe(200)
  for (const token of [await signToken(2, -60), await signToken(99), await signToken(2.5)]) {
    const { status, headers } = await sendWith(`Bearer ${token}`, 'GET task/')
    expect([status, String(headers['www-authenticate'])]).toEqual([401, expect.stringContaining('"invalid_token"')])
  }
})

test('a request with two schemes, or with credentials of another scheme, is refused', async () => {
  const [password, token, key] = schemes.map((scheme) => credentialsOf(scheme, 'bob'))
  const swapped = [`Bearer ${key?.slice(7)}`, `ApiKey ${token?.slice(7)}`, `Basic ${key?.slice(7)}`]
  for (const authorization of [`${password}, ${token}`, `${token}, ${key}`, `${key}, ${password}`, ...swapped]) {
    expect((await sendWith(authorization, 'GET task/')).status).toBe(401)
  }
  const { headers } = await tracker.as(undefined, 'GET task/')
  const challenges = 'Basic realm="Login Required", Bearer, ApiKey realm="API"'
  expect(headers['www-authenticate']).toBe(challenges)
})

test.each([
  ['a wrong password', 'bob', 'ann'],
  ['an unknown name', 'gil', 'gil'],
  ['a name in other letters', 'BOB', 'bob'],
  ['a name that is not text', { like: '%' }, 'bob'],
  ['no password', 'bob', undefined],
])('no token for %s', async (_, username, password) => {
  const { status, text } = await logIn(username, password)
  expect([status, text]).toEqual([401, 'Unauthorized'])
})

test('only the password changes the password', async () => {
  const body = { old: 'eve', new: 'correct horse' }
  for (const scheme of ['Bearer', 'ApiKey'] as const) {
    expect((await sendWith(credentialsOf(scheme, 'eve'), 'POST -/password', body)).status).toBe(403)
  }
  expect((await sendWith(basic('eve'), 'POST -/password', body)).status).toBe(204)
  expect((await logIn('eve', 'eve')).status).toBe(401)
  expect((await logIn('eve', 'correct horse')).status).toBe(200)
})
