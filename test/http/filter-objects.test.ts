import { Column, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource, type ScopeResult } from 'typeorm-resources'
import { send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Filter objects, as row scopes return them: each test sets the scope of the resource. */

let filter: () => unknown = () => true

@Entity()
class Shelf {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) place!: string
}

@Entity()
@Resource({
  auth: permitAllAsUser1,
  exclude: ['secret', 'shelf'],
  rename: { pageCount: 'pages' },
  scope: () => filter() as ScopeResult,
})
class Book {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) secret!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true, select: false }) sealed!: string | null
  @Column({ type: 'integer', nullable: true }) pageCount!: number | null
  @Column({ type: 'boolean' }) lent!: boolean
  @Column({ type: 'date' }) printed!: string
  @Column({ type: 'decimal', precision: 12, scale: 8, nullable: true }) weight!: string | null
  /** To an entity that is not a resource. */
  @ManyToOne(() => Shelf, { nullable: true }) shelf!: Relation<Shelf> | null
  @ManyToOne(
    () => Book,
    ({ sequels }) => sequels,
    { nullable: true },
  )
  @JoinColumn()
  prequel!: Relation<Book> | null
  @OneToMany(
    () => Book,
    ({ prequel }) => prequel,
  )
  sequels!: Relation<Book>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Shelf, Book] })
  await world.dataSource.getRepository(Shelf).save([
    { id: 1, place: 'attic' },
    { id: 2, place: 'cellar' },
  ])
  const books = world.dataSource.getRepository<object>(Book)
  const rows = [
    {
      id: 1,
      title: 'a, b',
      secret: 'x',
      sealed: 'p',
      pageCount: 10,
      lent: true,
      printed: '2020-01-01',
      shelf: { id: 1 },
    },
    {
      id: 2,
      title: 'say "c"',
      secret: 'y',
      sealed: 'q',
      pageCount: 20,
      lent: false,
      printed: '2021-01-01',
      weight: '0.5',
      shelf: { id: 2 },
    },
    {
      id: 3,
      title: 'c_d',
      secret: null,
      sealed: null,
      pageCount: null,
      lent: false,
      printed: '2022-01-01',
      prequel: { id: 1 },
    },
    {
      id: 4,
      title: 'cxd',
      secret: 'x',
      sealed: 'p',
      pageCount: 40,
      lent: true,
      printed: '2023-01-01',
      prequel: { id: 3 },
    },
  ]
  for (const row of rows) await books.insert(row)
})
afterAll(() => world.close())

const list = () => send(world.url, 'GET /api/book/')

test.each<[unknown, readonly number[]]>([
  [true, [1, 2, 3, 4]],
  [false, []],
  [{ id: 2 }, [2]],
  [{ title: 'a, b' }, [1]],
  [{ title__in: ['a, b', 'say "c"'] }, [1, 2]],
  [{ title__like: 'c\\_d' }, [3]],
  [{ title__ilike: 'C_D' }, [3, 4]],
  [{ pages__gt: 10, pages__lte: 40 }, [2, 4]],
  [{ pages__gt: 10n }, [2, 4]],
  [{ lent: true }, [1, 4]],
  [{ lent__is: false }, [2, 3]],
  [{ printed__gte: '2022-01-01' }, [3, 4]],
  // JavaScript writes this number as 1e-7.
  [{ weight__gte: 0.0000001 }, [2]],
  [{ weight: 0.5 }, [2]],
  [{ pages__is: 'null' }, [3]],
  // Hidden fields, and relations to entities that are not resources.
  [{ secret: 'x' }, [1, 4]],
  [{ sealed: 'p' }, [1, 4]],
  [{ shelf: 1 }, [1]],
  [{ shelf_id__is: 'not_null' }, [1, 2]],
  [{ shelf__place: 'cellar' }, [2]],
  [{ shelf__place__is: 'null' }, [3, 4]],
  // Relations to the entity itself.
  [{ prequel__title: 'a, b' }, [3]],
  [{ prequel__prequel__secret: 'x' }, [4]],
  [{ sequels__title: 'cxd' }, [3]],
  [{ sequels__sequels__lent: true }, [1]],
  [{ sequels__id__is: 'null' }, [2, 4]],
  [{ prequel__sequels__shelf__is: 'null' }, [1, 2, 3, 4]],
  [{ prequel__shelf__place: 'attic' }, [3]],
  [{ prequel__shelf__place__is: 'null' }, [1, 2, 4]],
  // Groups.
  [
    [{ id: 1 }, { title: 'cxd' }],
    [1, 4],
  ],
  [
    [
      { id: 1, lent: false },
      { id: 2, lent: false },
    ],
    [2],
  ],
  [{ lent: true, or: [{ id: 1 }, { id: 2 }] }, [1]],
  [{ not: { lent: true } }, [2, 3]],
  [{ not: { secret: 'x' } }, [2, 3]],
  [{ and: [{ lent: true }, { not: { id: 1 } }] }, [4]],
  [{ not: { or: [{ id: 1 }, { id: 2 }] } }, [3, 4]],
  [{ or: [{ shelf__place: 'attic' }, { sequels__id: 4 }] }, [1, 3]],
  // Nothing: null compares as in SQL, and a list without members matches nothing.
  [{ id: null }, []],
  [{ id__ne: null }, []],
  [{ lent: true, shelf: null }, []],
  [{ id__in: [] }, []],
  [{ id__in: [null] }, []],
  [{ id__in: [null, 3] }, [3]],
  [[], []],
  [{ or: [] }, []],
  [[{ id: null }, { id: 4 }], [4]],
  [{ not: { id__in: [] } }, [1, 2, 3, 4]],
])('Filter objects: %j matches %j', async (object, ids) => {
  filter = () => object
  const { objects } = (await list()).json() as { objects: { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(ids)
  expect(world.faults).toEqual([])
})

test('Filter objects: a Date is compared with dates', async () => {
  filter = () => ({ printed__gte: new Date('2022-01-01T00:00:00Z') })
  const { objects } = (await list()).json() as { objects: { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual([3, 4])
})

test.each<[unknown, string]>([
  [undefined, 'a filter must be an object, not undefined'],
  [null, 'a filter must be an object, not null'],
  [7, 'a filter must be an object, not number'],
  ['id=1', 'a filter must be an object, not string'],
  [{}, 'a filter must not be empty; to match all records, use true'],
  [[{}], 'a filter must not be empty; to match all records, use true'],
  [[true], 'a filter must be an object, not boolean'],
  [{ id: undefined }, 'the value of id is undefined; leave id out, or use null; a principal has the properties'],
  [{ id: 1, not: { id: undefined } }, 'the value of id is undefined; leave id out, or use null'],
  [
    { id__in: [1, undefined] },
    'the value of id__in must be a string, a number, a boolean, a Date or null, not undefined',
  ],
  [{ id: { gt: 1 } }, 'the value of id must be a string, a number, a boolean, a Date or null, not object'],
  [{ id: [1] }, 'id must not be an array'],
  [{ id__in: 1 }, 'id__in must be an array'],
  [{ not: { id: null } }, 'the value of id is null within "not", which would match records'],
  [{ not: { or: [{ id: null }] } }, 'the value of id is null within "not", which would match records'],
  [{ not: { id__in: [1, null] } }, 'the list of id__in has null within "not"'],
  [{ and: [] }, '"and" must not be empty'],
  [{ or: { id: 1 } }, 'the value of "or" must be an array of filters'],
  [{ nope: 1 }, 'nope is not a field of book'],
  [{ pageCount: 1 }, 'pageCount is not a field of book'],
  [{ shelf__nope: 1 }, 'shelf__nope contains nope, which is not a field of shelf'],
  [{ id: 'one' }, 'id must be'],
  [{ id__nope: 1 }, 'id__nope has the unknown operator "nope"'],
  [Promise.resolve(true), 'the scope of book must not be async'],
  // Holes, and properties that Object.entries does not return.
  [new Array(1), 'a filter must be an object, not undefined'],
  [{ or: new Array(2) }, 'a filter must be an object, not undefined'],
  [{ and: new Array(1) }, 'a filter must be an object, not undefined'],
  [
    { id__in: new Array(1) },
    'the value of id__in must be a string, a number, a boolean, a Date or null, not undefined',
  ],
  [Object.assign(Object.create({ id: 1 }), { lent: true }), 'a filter must be a plain object'],
  [{ lent: true, [Symbol('id')]: 1 }, 'a filter must be a plain object'],
  [Object.defineProperty({ lent: true }, 'id', { value: 1 }), 'a filter must be a plain object'],
  [new Map([['id', 1]]), 'a filter must be a plain object'],
  // Too much for a database.
  [{ id__in: Array.from({ length: 1001 }, () => 1) }, 'its filters have 1001 values; at most 1000 are allowed'],
  [
    [{ id__in: Array.from({ length: 600 }, () => 1) }, { id__in: Array.from({ length: 401 }, () => 1) }],
    'its filters have 1001 values; at most 1000 are allowed',
  ],
  [Array.from({ length: 501 }, () => ({ id: 1 })), 'it has 501 filters; at most 500 are allowed'],
  [{ printed: new Date(Number.NaN) }, 'the Date of printed is invalid'],
])('Filter objects: %j is a 500 that reveals nothing: %s', async (object, message) => {
  filter = () => object
  const reply = await list()
  expect([reply.status, reply.text.includes('book'), reply.text.includes(message)]).toEqual([500, false, false])
  const faults = (world.faults as unknown[]).splice(0)
  expect(faults.map(String)).toEqual([expect.stringContaining(message)])
})

test.each<[unknown, unknown]>([
  [new Array(1), []],
  [{ or: new Array(1) }, { id: null }],
  [{ 'a,b': 1 }, { a: 1, b: 2 }],
])('Filter objects: after %j, the scope %j is not widened', async (first, second) => {
  filter = () => first
  await list()
  ;(world.faults as unknown[]).splice(0)
  filter = () => second
  const reply = await list()
  ;(world.faults as unknown[]).splice(0)
  expect(reply.status === 200 ? (reply.json() as { objects: unknown[] }).objects : []).toEqual([])
})

test('Row scopes: a function that throws is a 500 that reveals nothing', async () => {
  filter = () => {
    throw new Error('the secret is 42')
  }
  const reply = await list()
  expect([reply.status, reply.text.includes('42')]).toEqual([500, false])
  expect((world.faults as unknown[]).splice(0).map(String)).toEqual(['Error: the secret is 42'])
})

test('Row scopes: an asynchronous function that fails does not end the process', async () => {
  filter = () => Promise.reject(new Error('failed'))
  expect((await list()).status).toBe(500)
  const faults = (world.faults as unknown[]).splice(0)
  expect(faults.map(String)).toEqual([expect.stringContaining('must not be async')])
})

test('Row scopes: the function is called once for a request', async () => {
  let calls = 0
  filter = () => {
    calls++
    return { lent: true }
  }
  await send(world.url, 'GET /api/book/?sequels__title=x&prequel__lent=true&count=exact&ordering=prequel__title')
  expect(calls).toBe(1)
  await send(world.url, 'PUT /api/book/1/', { body: { title: 'new', prequel_id: 4 } })
  expect(calls).toBe(2)
})

test.each([
  [{ lent: true }, { id: 10, title: 'x', printed: '2020-01-01' }, 201, { lent: true }],
  [{ lent: true }, { id: 11, title: 'x', printed: '2020-01-01', lent: true }, 201, { lent: true }],
  [{ lent: true }, { id: 12, title: 'x', printed: '2020-01-01', lent: false }, 403, undefined],
  [{ lent: true, secret: 'z' }, { id: 13, title: 'x', printed: '2020-01-01' }, 201, { secret: 'z' }],
  [{ lent: true, shelf: 2 }, { id: 14, title: 'x', printed: '2020-01-01' }, 201, { shelfId: 2 }],
  [{ or: [{ lent: true }] }, { id: 15, title: 'x', printed: '2020-01-01' }, 400, undefined],
  [[{ lent: true }], { id: 16, title: 'x', printed: '2020-01-01' }, 400, undefined],
])('Presets: with the scope %j, a POST of %j is %d', async (object, body, status, stored) => {
  filter = () => object
  expect((await send(world.url, 'POST /api/book/', { body })).status).toBe(status)
  const rows = await world.sql(`SELECT * FROM "book" WHERE "id" = ${body.id}`)
  expect(rows).toEqual(stored === undefined ? [] : [expect.objectContaining(shown(stored))])
  await world.sql(`DELETE FROM "book" WHERE "id" = ${body.id}`)
})

test('Row scopes: a reference is checked against a scope with many values', async () => {
  filter = () => ({ id__in: Array.from({ length: 100 }, (_, index) => index) })
  expect((await send(world.url, 'PUT /api/book/2/', { body: { prequel_id: 4 } })).status).toBe(200)
  expect((await send(world.url, 'PUT /api/book/2/', { body: { prequel_id: null } })).status).toBe(200)
  expect(world.faults).toEqual([])
})

/** A boolean as the driver returns it. */
function shown(stored: object): object {
  const hasBooleans = String(world.dataSource.options.type) === 'postgres'
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, value === true && !hasBooleans ? 1 : value]),
  )
}

test('the error for an unknown name lists the relations that filters can follow', async () => {
  const reply = await send(world.url, 'GET /api/book/?prequl__title=x')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('; relations: prequel, sequels')])
})
