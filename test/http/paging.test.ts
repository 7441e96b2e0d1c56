import fc from 'fast-check'
import { send } from '../client'
import { Note } from '../world/entities'
import { notes } from '../world/seed'
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

test('D20, D21 following next visits every match once, and previous leads back, in every order', async () => {
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
})

test('spec limits: 20 records a page, where the request does not say', async () => {
  const { meta, objects } = (await send(world.url, 'GET /api/note/')).json() as List
  expect([objects.length, meta.next]).toEqual([20, '/api/note/?limit=20&page=2'])
})

test('spec list 3 every match is there', async () => {
  expect(idsOf(await walk('/api/note/?limit=7', 'next'))).toHaveLength(notes.length + 60)
})
