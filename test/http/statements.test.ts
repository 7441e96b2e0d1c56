import { send } from '../client'
import { isMariadb, leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const joins = 'parent__author__username=ann&parent__parent__score__gt=0&author__admin=true&parent__title__ilike=%25a%25'

/** MariaDB cannot return what an UPDATE has written: it is read before and after. */
const update = isMariadb ? ['SELECT', 'UPDATE', 'SELECT'] : ['UPDATE']
/** Where the record is not read first, nobody knows. */
const noUpdate = isMariadb ? ['SELECT'] : ['UPDATE']

/** MySQL cannot even return what an INSERT has. */
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
  ['an update of what must be known', 'PUT /api/note/2/', 'bob', { id: 2, title: 'Beta' }, ['SELECT', 'SELECT']],
  ['a delete', 'DELETE /api/note/7/', 'bob', undefined, ['SELECT', 'SELECT', 'DELETE']],
  ['a refused write', 'POST /api/language/', 'ann', {}, []],
  ['a refused login', 'GET /api/message/', undefined, undefined, []],
  ['a path that is not ours', 'GET /api/nothing/', undefined, undefined, []],
  ['a query that cannot be answered', 'GET /api/note/?nope=1', undefined, undefined, []],
  ['an id that cannot be one', 'GET /api/note/1abc/', undefined, undefined, []],
] as const)('%s takes as many statements as it must', async (_, request, as, body, expected) => {
  world.statements()
  await send(world.url, request, { as, body })
  expect(world.statements().map((sql) => sql.trim().split(' ')[0])).toEqual(expected)
})

test.each([
  [
    'GET /api/note/?title=needle&score=424242&created__gt=2031-01-01&author__username__like=needle%25',
    undefined,
    // Limit and offset with them.
    isMariadb ? 7 : 6,
  ],
  ['GET /api/note/424242/', undefined, 1],
  ['PUT /api/note/1/', { title: 'needle', score: 424242, created: '2031-01-01', extra: { a: 'needle' } }, 5],
  ['PUT /api/note/2/', { title: 'needle', score: 424242 }, 3],
  ['POST /api/note/', { title: 'needle', score: 424242, author_id: 1, created: '2031-01-01' }, undefined],
  ['DELETE /api/message/1/', undefined, 2],
  ['POST /api/word/', { text: 'needle', language_id: 'needle' }, undefined],
])('no value stands in the SQL of %s: all are bound', async (request, body, parameters) => {
  world.statements()
  await send(world.url, request, { as: 'ann', body })
  const statements = world.statements()
  // As words: the name of the run's schema may have any digits in it.
  expect(statements.join()).not.toMatch(/needle|\b424242\b|\b2031\b/)
  const last = statements.findLast((sql) => !isMariadb || !sql.startsWith('SELECT') || request.startsWith('GET'))
  if (parameters !== undefined) expect(last?.match(/\?|\$\d+/g)).toHaveLength(parameters)
})

test('what a query string asks is known again by its names as they were sent', async () => {
  const ask = (query: string) => send(world.url, `GET /api/note/?${query}`)
  const known = await ask('title=Beta&score=1')
  expect(known.status).toBe(200)
  expect(await ask('title=Beta&score=1')).toMatchObject({ text: known.text })
  expect(await ask('%74itle=Beta&score=1')).toMatchObject({ status: 200 })
  // The names of the first, joined.
  expect(await ask('title%26score=Beta')).toMatchObject({ status: 400 })
  expect(await ask('title%26score=Beta&title=1')).toMatchObject({ status: 400 })
  expect(await ask('')).toMatchObject({ status: 200 })
  expect(await ask('=1')).toMatchObject({ status: 400 })
  const orders = await Promise.all(['ordering=score', 'ordering=-score', ''].map(ask))
  expect(new Set(orders.map(({ text }) => text)).size).toBe(3)
})

test('Owners: a write carries key and owner in its WHERE', async () => {
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
