import { Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Names that errors suggest for a wrong name. */

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
  ['note/?expand=author', 'is not a field of note; use include; fields: id, '],
  ['note/?q=a', 'is not a field of note; use search; fields: id, '],
  ['note/?select=title', 'is not a field of note; use fields; fields: id, '],
  ['note/?author=ann', '; use author__username to compare another field of the related record'],
  ['note/?author_id=ann', 'use author__username'],
  ['note/?parent__author=ann', 'use parent__author__username'],
  ['note/?score[gte]=1', 'is not a field of note; use score__gte; fields: id, '],
  ['note/?score[$gte]=1', 'is not a field of note; use score__gte; fields: id, '],
  ['note/?score>3', 'is not a field of note; use score__gt; fields: id, '],
  ['note/?score<=3', 'is not a field of note; use score__lte; fields: id, '],
  ['note/?score!=3', 'is not a field of note; use score__ne; fields: id, '],
  ['note/?secret>3', 'is not a field of note; fields: id, '],
  ['note/?author.username=ann', 'is not a field of note; use author__username; fields: id, '],
  ['note/?author_username=ann', 'is not a field of note; use author__username; fields: id, '],
  ['note/?authorId=1', 'is not a field of note; use author_id; fields: id, '],
  [
    'note/?title__contains=a',
    'has the unknown operator "contains"; use "like" with % for any text; operators of title',
  ],
  ['note/?title__icontains=a', 'use "ilike" with % for any text; '],
  ['note/?title__not=a', 'use "ne"; '],
  ['note/?title__isnull=true', 'use "is" with the value null or not_null; '],
  ['note/?score__between=1,2', 'use "gte" and "lte"; '],
  // Only operators that the field has are suggested.
  ['note/?score__contains=5', 'has the unknown operator "contains"; operators of score'],
  ['note/?score=null', 'to find nulls, use score__is=null'],
  ['note/?id=1,2', 'to compare with several values, use id__in'],
  ['note/?ordering=score%20desc', 'use -score; '],
  ['note/?ordering=%2Bscore', 'use score; '],
  // A hidden field is not suggested, like a field that does not exist.
  ['note/?secret_gt=1', 'is not a field of note; fields: id, '],
  ['note/?lower(title)=a', 'is not a field of note; fields: id, '],
  ['note/?nothing_gt=1', 'is not a field of note; fields: id, '],
  ['note/?author.secret=1', 'is not a field of note; fields: id, '],
  ['note/?secret[gte]=1', 'is not a field of note; fields: id, '],
  ['note/?ordering=secret%20desc', 'which is not a field of note; fields: id, '],
  ['note/?author__sort=1', 'which is not a field of user; fields: id, '],
  ['note/?constructor_eq=1', 'is not a field of note; fields: id, '],
])('%s', async (path, message) => {
  const reply = await get(path)
  const { errors } = reply.json() as { errors: { message: string }[] }
  expect([reply.status, errors[0]?.message]).toEqual([400, expect.stringContaining(message)])
})

test('errors about a body do not suggest parameters or operators', async () => {
  const reply = await send(world.url, 'POST /api/note/', { as: 'bob', body: { sort: 'x', score_gt: 1 } })
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  const wrong = errors.filter(({ field }) => field === 'sort' || field === 'score_gt')
  expect(wrong.map(({ message }) => message.slice(0, 32))).toEqual(Array(2).fill('is not a field of note; fields: '))
})

test('errors about a body suggest a field whose name differs only in case and underscores', async () => {
  const reply = await send(world.url, 'POST /api/note/', { as: 'bob', body: { parentId: 1, Secret: 'x' } })
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  const messageOf = (name: string) => errors.find(({ field }) => field === name)?.message
  expect(messageOf('parentId')).toContain('is not a field of note; use parent_id; fields: ')
  expect(messageOf('Secret')).toContain('is not a field of note; fields: ')
})

@Entity()
class Drawer {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: permitAll })
class Spoon {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Drawer) drawer!: Drawer
}

test('the error says that a relation to an entity that is not a resource cannot be followed', async () => {
  const { url, close } = await openWorld({ entities: [Drawer, Spoon] })
  const reply = await send(url, 'GET /api/spoon/?drawer__label=forks')
  await close()
  expect([reply.status, reply.text]).toEqual([
    400,
    expect.stringContaining('; only relations to resources can be followed"'),
  ])
})
