import { Column, DeleteDateColumn, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** The parameter `count`, with which a list counts its records. */

@Entity()
@Resource({ auth: permitAll })
class Shelf {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @OneToMany(
    () => Book,
    (book) => book.shelf,
  )
  books!: Relation<Book>[]
}

@Entity()
@Resource({ auth: permitAll })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 0 }) score!: number
  @ManyToOne(() => Shelf) shelf!: Relation<Shelf> | null
  @DeleteDateColumn() deleted!: Date | null
}

/** Has a field with the name of the parameter. */
@Entity()
@Resource({ auth: permitAll })
class Stock {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 0 }) count!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Shelf, Book, Stock],
    mount: { limits: { count: 5 } },
    seed: async (dataSource) => {
      const shelves = await dataSource.getRepository(Shelf).save([{ name: 'a' }, { name: 'b' }])
      const books = dataSource.getRepository(Book)
      const rows = Array.from({ length: 9 }, (_, index) => ({ score: index, shelf: shelves[index % 3] ?? null }))
      await books.save(rows)
      await books.softDelete(9)
      await dataSource.getRepository(Stock).save([{ count: 1 }, { count: 2 }])
    },
  })
})
afterAll(() => world.close())
const { get } = apiOf(() => world.url)

interface Envelope {
  readonly meta: { readonly next: string; readonly previous: string; readonly total?: number }
  readonly objects: readonly { readonly id: number }[]
}
const listOf = async (path: string): Promise<Envelope> => {
  const reply = await get(path)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.json() as Envelope
}

test.each<readonly [path: string, totals: object, records: number]>([
  // Soft-deleted records are not counted.
  ['book/?count=exact', { total: 8 }, 8],
  ['book/?count=exact&limit=3', { total: 8 }, 3],
  ['book/?count=exact&limit=3&page=9', { total: 8 }, 0],
  ['book/?count=capped', { total: 5, total_capped: true }, 8],
  ['book/?count=capped&score__lt=5', { total: 5, total_capped: false }, 5],
  ['book/?count=capped&score__lt=4', { total: 4, total_capped: false }, 4],
  ['book/?count=exact&limit=0', { total: 8 }, 0],
  ['book/?count=capped&limit=0', { total: 5, total_capped: true }, 0],
  ['book/?count=exact&score__gt=100', { total: 0 }, 0],
  ['book/?count=exact&shelf__name=a', { total: 3 }, 3],
  ['book/?count=exact&or=(shelf__name:a,not(score__gt:1))', { total: 4 }, 4],
  // A record that a to-many relation matches several times counts once.
  ['shelf/?count=exact&books__score__gte=0', { total: 2 }, 2],
  ['shelf/?count=capped&books__score__gte=0', { total: 2, total_capped: false }, 2],
  ['book/?count=exact&after=&limit=2', { total: 8 }, 2],
])('%s', async (path, totals, records) => {
  const { meta, objects } = await listOf(path)
  const { total, total_capped } = meta as { total?: number; total_capped?: boolean }
  expect({ total, total_capped }).toEqual({ total_capped: undefined, ...totals })
  expect(objects).toHaveLength(records)
})

test('records are not counted without the parameter', async () => {
  world.statements()
  expect(Object.keys((await listOf('book/')).meta)).toEqual(['model', 'page', 'next', 'previous'])
  expect(world.statements().join()).not.toContain('COUNT')
})

test('counting takes two statements, one without records, which are the same for other values', async () => {
  await listOf('book/?count=exact&score=1')
  world.statements()
  await listOf('book/?count=exact&score=2')
  await listOf('book/?count=exact&score=3&limit=0')
  const statements = world.statements()
  expect(statements).toHaveLength(3)
  expect(new Set(statements).size).toBe(2)
})

test('the links count as well, also by keyset', async () => {
  for (const after of ['', '&after=']) {
    const { meta } = await listOf(`book/?count=exact&limit=5${after}`)
    const next = (await send(world.url, `GET ${meta.next}`)).json() as Envelope
    expect([next.meta.total, next.objects.length]).toEqual([8, 3])
  }
})

test('a list without records has no links', async () => {
  const { meta } = await listOf('book/?count=exact&limit=0')
  expect([meta.next, meta.previous]).toEqual(['', ''])
})

test.each([
  ['book/?limit=0', 'limit', 'must be an integer from 1 to 1000'],
  ['book/?limit=-1&count=exact', 'limit', 'must be an integer from 0 to 1000'],
  ['book/?count=all', 'count', 'must be exact or capped'],
  ['book/?count=', 'count', 'must be exact or capped'],
  ['book/?count=exact&count=exact', 'count', 'is given twice'],
  // The resource has a field of this name.
  ['stock/?count=exact', 'count', 'must be an integer'],
])('%s is 400', async (path, field, message) => {
  const reply = await get(path)
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  expect([reply.status, errors[0]?.field]).toEqual([400, field])
  expect(errors[0]?.message).toContain(message)
})

test('a field named count is a filter', async () => {
  expect((await listOf('stock/?count=2')).objects.map(({ id }) => id)).toEqual([2])
})

test('counting requires the permission to read', async () => {
  const closed = await openWorld({})
  const reply = await send(closed.url, 'GET /api/message/?count=exact&limit=0')
  expect([reply.status, reply.text]).toEqual([401, expect.not.stringContaining('total')])
  await closed.close()
})
