import { apiOf, send } from '../client'
import { openWorld, type World } from '../world/world'

/** What errors suggest instead of a name that is wrong. */

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())
const { get } = apiOf(() => world.url)

test.each([
  ['note/?score_gt=1', 'is not a field of note; use score__gt; fields: id, '],
  ['note/?title_ilike=a', 'is not a field of note; use title__ilike; fields: id, '],
  ['note/?author__username_like=a', 'which is not a field of user; use username__like; fields: id, '],
  ['note/?ordering=score_gt', 'which is not a field of note; use score__gt; fields: id, '],
  ['note/?sort=score', 'is not a field of note; use ordering; fields: id, '],
  ['note/?Order_By=score', 'is not a field of note; use ordering; fields: id, '],
  ['note/?offset=20', 'is not a field of note; use page; fields: id, '],
  ['note/?page_size=20', 'is not a field of note; use limit; fields: id, '],
  ['note/?author=ann', '; use author__username to compare another field of the related record'],
  ['note/?author_id=ann', 'use author__username'],
  ['note/?parent__author=ann', 'use parent__author__username'],
  // What is hidden is suggested as little as what there is not.
  ['note/?secret_gt=1', 'is not a field of note; fields: id, '],
  ['note/?nothing_gt=1', 'is not a field of note; fields: id, '],
  ['note/?author__sort=1', 'which is not a field of user; fields: id, '],
  ['note/?constructor_eq=1', 'is not a field of note; fields: id, '],
])('%s', async (path, message) => {
  const reply = await get(path)
  const { errors } = reply.json() as { errors: { message: string }[] }
  expect([reply.status, errors[0]?.message]).toEqual([400, expect.stringContaining(message)])
})

test('a body has neither parameters nor operators', async () => {
  const reply = await send(world.url, 'POST /api/note/', { as: 'bob', body: { sort: 'x', score_gt: 1 } })
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  const wrong = errors.filter(({ field }) => field === 'sort' || field === 'score_gt')
  expect(wrong.map(({ message }) => message.slice(0, 32))).toEqual(Array(2).fill('is not a field of note; fields: '))
})
