import { send } from '../client'
import { isMariadb, leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const joins = 'parent__author__username=ann&parent__parent__score__gt=0&author__admin=true&parent__title__ilike=%25a%25'

/** MariaDB cannot return the row of an UPDATE, which is read before and after it. */
const update = isMariadb ? ['SELECT', 'START', 'UPDATE', 'SELECT', 'COMMIT'] : ['UPDATE']
/** Without RETURNING the row must be read to find out whether it changes. */
const noUpdate = isMariadb ? ['SELECT'] : ['UPDATE']

/** With the driver mysql the row of an INSERT cannot be returned either. */
const insert = leg.driver === 'mysql' ? ['START', 'INSERT', 'SELECT', 'COMMIT'] : ['INSERT']

test.each([
  ['a list', 'GET /api/note/', undefined, undefined, ['SELECT']],
  [
    'a list with join filters and ordering',
    `GET /api/note/?${joins}&ordering=-score&page=2`,
    undefined,
    undefined,
    ['SELECT'],
  ],
  ['a list with credentials', 'GET /api/message/?note__author__username=ann', 'bob', undefined, ['SELECT', 'SELECT']],
  ['an item', 'GET /api/note/1/', undefined, undefined, ['SELECT']],
  ['a create', 'POST /api/note/', 'bob', { title: 'x', author_id: 1 }, ['SELECT', ...insert]],
  ['an update', 'PUT /api/note/2/', 'bob', { score: 4 }, ['SELECT', ...update]],
  ['an update that changes nothing', 'PUT /api/note/2/', 'bob', { title: 'Beta' }, ['SELECT', ...noUpdate]],
  ['an update that names the key', 'PUT /api/note/2/', 'bob', { id: 2, title: 'Beta' }, ['SELECT', 'SELECT']],
  ['a delete', 'DELETE /api/note/7/', 'bob', undefined, ['SELECT', 'SELECT', 'DELETE']],
  ['a refused write', 'POST /api/language/', 'ann', {}, []],
  ['a refused login', 'GET /api/message/', undefined, undefined, []],
  ['a path outside of the service', 'GET /api/nothing/', undefined, undefined, []],
  ['an invalid query string', 'GET /api/note/?nope=1', undefined, undefined, []],
  ['an invalid id', 'GET /api/note/1abc/', undefined, undefined, []],
] as const)('the statements of %s', async (_, request, as, body, expected) => {
  world.statements()
  await send(world.url, request, { as, body })
  expect(world.statements().map((sql) => sql.trim().split(' ')[0])).toEqual(expected)
})

test.each([
  [
    'GET /api/note/?title=needle&score=424242&created__gt=2031-01-01&author__username__like=needle%25',
    undefined,
    // Including LIMIT and OFFSET.
    isMariadb ? 7 : 6,
  ],
  ['GET /api/note/424242/', undefined, 1],
  ['PUT /api/note/1/', { title: 'needle', score: 424242, created: '2031-01-01', extra: { a: 'needle' } }, 5],
  ['PUT /api/note/2/', { title: 'needle', score: 424242 }, 3],
  ['POST /api/note/', { title: 'needle', score: 424242, author_id: 1, created: '2031-01-01' }, undefined],
  ['DELETE /api/message/1/', undefined, 2],
  ['POST /api/word/', { text: 'needle', language_id: 'needle' }, undefined],
])('the SQL of %s contains no values, only bind parameters', async (request, body, parameters) => {
  world.statements()
  await send(world.url, request, { as: 'ann', body })
  const statements = world.statements()
  // Whole words, since the name of the schema may contain any digits.
  expect(statements.join()).not.toMatch(/needle|\b424242\b|\b2031\b/)
  const others = statements.filter((sql) => !sql.startsWith('COMMIT'))
  const last = others.findLast((sql) => !isMariadb || !sql.startsWith('SELECT') || request.startsWith('GET'))
  if (parameters !== undefined) expect(last?.match(/\?|\$\d+/g)).toHaveLength(parameters)
})

test('query strings share a compiled statement only if their parameter names are the same', async () => {
  const sendQuery = (query: string) => send(world.url, `GET /api/note/?${query}`)
  const known = await sendQuery('title=Beta&score=1')
  expect(known.status).toBe(200)
  expect(await sendQuery('title=Beta&score=1')).toMatchObject({ text: known.text })
  expect(await sendQuery('%74itle=Beta&score=1')).toMatchObject({ status: 200 })
  // The two names of the first query string, joined with an encoded `&`.
  expect(await sendQuery('title%26score=Beta')).toMatchObject({ status: 400 })
  expect(await sendQuery('title%26score=Beta&title=1')).toMatchObject({ status: 400 })
  expect(await sendQuery('')).toMatchObject({ status: 200 })
  expect(await sendQuery('=1')).toMatchObject({ status: 400 })
  const orders = await Promise.all(['ordering=score', 'ordering=-score', ''].map(sendQuery))
  expect(new Set(orders.map(({ text }) => text)).size).toBe(3)
})

test('Owners: the WHERE of a write contains key and owner', async () => {
  const where = /WHERE [`"]id[`"] = (\?|\$\d) AND [`"]userId[`"] = (\?|\$\d)/
  for (const [request, body] of [
    ['PUT /api/message/2/', { message: 'x' }],
    ['DELETE /api/message/2/', undefined],
  ] as const) {
    world.statements()
    await send(world.url, request, { as: 'bob', body })
    expect(world.statements().find((sql) => /^ ?(UPDATE|DELETE)/.test(sql))).toMatch(where)
  }
})
