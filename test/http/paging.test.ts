import fc from 'fast-check'
import { send } from '../client'
import { Note } from '../world/entities'
import { openWorld, type World } from '../world/world'

interface List {
  readonly meta: { readonly page: number; readonly next: string; readonly previous: string }
  readonly objects: readonly { readonly id: number; readonly score: number }[]
}

let world: World
beforeAll(async () => {
  world = await openWorld()
  // Many ties, so that an order that is not total would show.
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

const walk = async (path: string, link: 'next' | 'previous'): Promise<readonly List[]> => {
  const pages: List[] = []
  for (let at = path; at !== ''; at = pages.at(-1)?.meta[link] ?? '') {
    pages.push((await send(world.url, `GET ${at}`)).json() as List)
  }
  return pages
}
const idsOf = (pages: readonly List[]): readonly number[] => pages.flatMap(({ objects }) => objects.map(({ id }) => id))

test('Ordering, Links: following next visits every match once, and previous leads back, in every order', async () => {
  const property = fc.asyncProperty(ordering, filter, fc.integer({ min: 1, max: 40 }), async (order, where, limit) => {
    const query = `/api/note/?${where === '' ? '' : `${where}&`}ordering=${order}`
    const whole = await walk(`${query}&limit=1000`, 'next')
    const forward = await walk(`${query}&limit=${limit}`, 'next')
    expect(whole).toHaveLength(1)
    expect(idsOf(forward)).toEqual(idsOf(whole))
    expect(new Set(idsOf(whole)).size).toBe(idsOf(whole).length)
    const backward = await walk(`${query}&limit=${limit}&page=${forward.length}`, 'previous')
    expect([...backward].reverse()).toEqual(forward)
  })
  await fc.assert(property, { numRuns: 60, seed: 20 })
}, 120_000)

test('keyset: following next visits every match once, and previous leads back, in every order', async () => {
  const property = fc.asyncProperty(ordering, filter, fc.integer({ min: 1, max: 40 }), async (order, where, limit) => {
    const query = `/api/note/?${where === '' ? '' : `${where}&`}ordering=${order}`
    const whole = idsOf(await walk(`${query}&limit=1000`, 'next'))
    const forward = await walk(`${query}&limit=${limit}&after=`, 'next')
    expect(idsOf(forward)).toEqual(whole)
    const last = forward.at(-1)
    const backward = last?.meta.previous ? await walk(last.meta.previous, 'previous') : []
    expect([...backward].reverse().map(({ objects }) => objects)).toEqual(
      forward.slice(0, -1).map(({ objects }) => objects),
    )
  })
  await fc.assert(property, { numRuns: 60, seed: 21 })
}, 120_000)

test('keyset: nothing is skipped or repeated when records before and behind come and go meanwhile', async () => {
  const path = '/api/note/?ordering=-score,title&limit=5'
  const before = idsOf(await walk(path, 'next'))
  const first = (await send(world.url, `GET ${path}&after=`)).json() as List
  const repository = world.dataSource.getRepository(Note)
  const made = await repository.save([
    repository.create({ title: 'first', score: 1000, author: { id: 1 } }),
    repository.create({ title: 'last', score: -1000, author: { id: 1 } }),
  ])
  const [gone = 0] = before
  const [seen, rest] = [idsOf([first]), before.slice(5)]
  await repository.delete(rest[0] ?? 0)
  expect(seen).toContain(gone)
  const others = idsOf(await walk(first.meta.next, 'next'))
  expect(others).toEqual([...rest.slice(1), made[1]?.id])
  await repository.delete(made.map(({ id }) => id))
})

test('deep pages hold the same records as the way there', async () => {
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
    const walked = idsOf(await walk(`/api/note/?${query}&limit=90&after=`, 'next'))
    const counted = idsOf(await walk(`/api/note/?${query}&limit=90`, 'next'))
    expect(counted.length).toBeGreaterThan(1200)
    expect(counted).toEqual(walked)
  }
  await repository.delete({ title: 'deep' })
})

test.each([
  ['a token that was damaged', (token: string) => `${token.slice(0, -2)}AA`, ''],
  ['what is no token', () => 'x', ''],
  ['a token of another order', (token: string) => token, '&ordering=-score'],
])('keyset: %s is refused', async (_, change, more) => {
  const { meta } = (await send(world.url, 'GET /api/note/?limit=2&after=')).json() as List
  const token = new URLSearchParams(meta.next.split('?')[1]).get('after') ?? ''
  const reply = await send(world.url, `GET /api/note/?limit=2&after=${change(token)}${more}`)
  expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'after', message: expect.any(String) }] })
})

test('keyset: links keep the other parameters, then limit, page and token', async () => {
  const first = (
    await send(world.url, 'GET /api/note/?after=&page=1&score__gte=0&limit=2&ordering=title')
  ).json() as List
  expect(first.meta.previous).toBe('')
  expect(first.meta.next).toMatch(/^\/api\/note\/\?score__gte=0&ordering=title&limit=2&page=2&after=[\w-]+$/)
  const { meta } = (await send(world.url, `GET ${first.meta.next}`)).json() as List
  expect(meta.page).toBe(2)
  expect(meta.previous).toMatch(/^\/api\/note\/\?score__gte=0&ordering=title&limit=2&page=1&after=[\w-]+$/)
})

test('Pages: 20 records, where the request does not say', async () => {
  const { meta, objects } = (await send(world.url, 'GET /api/note/')).json() as List
  expect([objects.length, meta.next]).toEqual([20, '/api/note/?limit=20&page=2'])
})

test('Links: every match is on a page', async () => {
  expect(idsOf(await walk('/api/note/?limit=7', 'next'))).toHaveLength(
    await world.dataSource.getRepository(Note).count(),
  )
})
