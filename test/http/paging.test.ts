import fc from 'fast-check'
import { send } from '../client'
import { idsOf, type Page, readPage, readPages } from '../support/pages'
import { Note } from '../world/entities'
import { openWorld, type World } from '../world/world'

let world: World
beforeAll(async () => {
  world = await openWorld()
  // With many equal values, to notice an order that is not total.
  const rows = Array.from({ length: 60 }, (_, index) => ({
    title: `n${index % 3}`,
    score: index % 4,
    rank: index % 5 === 0 ? null : index % 5,
    author: { id: 1 },
    created: new Date(Date.UTC(2030, 0, 1 + (index % 7))),
  }))
  await world.dataSource.getRepository(Note).insert(rows)
})
afterAll(() => world.close())

const sortable = fc.constantFrom('id', 'title', 'score', 'rank', 'created', 'author', 'published', 'body')
const ordering = fc
  .array(fc.tuple(fc.constantFrom('', '-'), sortable), { minLength: 1, maxLength: 4 })
  .map((keys) => keys.map((key) => key.join('')).join(','))
const filter = fc.constantFrom('', 'score__gte=2', 'rank__is=null', 'author__username=ann', 'title__in=n0,n1')

const walk = (path: string, link?: 'next' | 'previous'): Promise<readonly Page[]> => readPages(world.url, path, link)

test('Ordering, Links: following next visits every match once, and previous visits them in reverse, in every order', async () => {
  const property = fc.asyncProperty(ordering, filter, fc.integer({ min: 1, max: 40 }), async (order, where, limit) => {
    const query = `/api/note/?${where === '' ? '' : `${where}&`}ordering=${order}`
    const whole = await walk(`${query}&limit=1000`)
    const forward = await walk(`${query}&limit=${limit}`)
    expect(whole).toHaveLength(1)
    expect(idsOf(forward)).toEqual(idsOf(whole))
    expect(new Set(idsOf(whole)).size).toBe(idsOf(whole).length)
    const backward = await walk(`${query}&limit=${limit}&page=${forward.length}`, 'previous')
    expect([...backward].reverse()).toEqual(forward)
  })
  await fc.assert(property, { numRuns: 30, seed: 20 })
})

test('keyset: following next visits every match once, and previous visits them in reverse, in every order', async () => {
  const property = fc.asyncProperty(ordering, filter, fc.integer({ min: 1, max: 40 }), async (order, where, limit) => {
    const query = `/api/note/?${where === '' ? '' : `${where}&`}ordering=${order}`
    const whole = idsOf(await walk(`${query}&limit=1000`))
    const forward = await walk(`${query}&limit=${limit}&after=`)
    expect(idsOf(forward)).toEqual(whole)
    const last = forward.at(-1)
    const backward = last?.meta.previous ? await walk(last.meta.previous, 'previous') : []
    expect([...backward].reverse().map(({ objects }) => objects)).toEqual(
      forward.slice(0, -1).map(({ objects }) => objects),
    )
  })
  await fc.assert(property, { numRuns: 30, seed: 21 })
})

test('keyset: no record is skipped or repeated while records before and after the cursor are inserted and deleted', async () => {
  const path = '/api/note/?ordering=-score,title&limit=5'
  const before = idsOf(await walk(path))
  const first = await readPage(world.url, `${path}&after=`)
  const repository = world.dataSource.getRepository(Note)
  const made = await repository.save([
    repository.create({ title: 'first', score: 1000, author: { id: 1 } }),
    repository.create({ title: 'last', score: -1000, author: { id: 1 } }),
  ])
  const [gone = 0] = before
  const [seen, rest] = [idsOf([first]), before.slice(5)]
  await repository.delete(rest[0] ?? 0)
  expect(seen).toContain(gone)
  const others = idsOf(await walk(first.meta.next))
  expect(others).toEqual([...rest.slice(1), made[1]?.id])
  await repository.delete(made.map(({ id }) => id))
})

test('pages at a great depth hold the same records as a walk from the first page', async () => {
  const repository = world.dataSource.getRepository(Note)
  const created = new Date(Date.UTC(2031, 0, 1))
  const rows = Array.from({ length: 1300 }, (_, index) => ({
    title: 'deep',
    score: index % 7,
    author: { id: 1 },
    created,
  }))
  for (let start = 0; start < rows.length; start += 100) await repository.insert(rows.slice(start, start + 100))
  for (const query of ['title=deep', 'title=deep&ordering=-score', 'author__username=ann&ordering=rank,-title']) {
    const walked = idsOf(await walk(`/api/note/?${query}&limit=90&after=`))
    const counted = idsOf(await walk(`/api/note/?${query}&limit=90`))
    expect(counted.length).toBeGreaterThan(1200)
    expect(counted).toEqual(walked)
  }
  await repository.delete({ title: 'deep' })
})

test.each([
  ['a changed token', (token: string) => `${token.slice(0, -2)}AA`, ''],
  ['an invalid token', () => 'x', ''],
  ['a token of another order', (token: string) => token, '&ordering=-score'],
])('keyset: %s is refused', async (_, change, more) => {
  const { meta } = await readPage(world.url, '/api/note/?limit=2&after=')
  const token = new URLSearchParams(meta.next.split('?')[1]).get('after') ?? ''
  const reply = await send(world.url, `GET /api/note/?limit=2&after=${change(token)}${more}`)
  expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'after', message: expect.any(String) }] })
})

test('keyset: links keep the other parameters, followed by limit, page and after', async () => {
  const first = await readPage(world.url, '/api/note/?after=&page=1&score__gte=0&limit=2&ordering=title')
  expect(first.meta.previous).toBe('')
  expect(first.meta.next).toMatch(/^\/api\/note\/\?score__gte=0&ordering=title&limit=2&page=2&after=[\w-]+$/)
  const { meta } = await readPage(world.url, first.meta.next)
  expect(meta.page).toBe(2)
  expect(meta.previous).toMatch(/^\/api\/note\/\?score__gte=0&ordering=title&limit=2&page=1&after=[\w-]+$/)
})

test('Pages: a list has 20 records by default', async () => {
  const { meta, objects } = await readPage(world.url, '/api/note/')
  expect([objects.length, meta.next]).toEqual([20, '/api/note/?limit=20&page=2'])
})

test('Links: every match is on a page', async () => {
  expect(idsOf(await walk('/api/note/?limit=7'))).toHaveLength(await world.dataSource.getRepository(Note).count())
})
