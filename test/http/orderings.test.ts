import { AfterLoad, Column, Entity, JoinTable, ManyToMany, ManyToOne, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { idsOf, readPage, readPages } from '../support/pages'
import { openWorld, type World } from '../world/world'

/** Ordering by fields of related records, and the position of nulls. */

@Entity()
@Resource({ auth: permitAll, exclude: ['salary'] })
class Person {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) name!: string | null
  @Column({ default: 0 }) salary!: number
  @ManyToOne(() => Person) boss!: Relation<Person> | null
}

@Entity()
@Resource({ auth: permitAll })
class Tag {
  @PrimaryColumn() id!: number
}

/** Shows another value than it stores. */
@Entity()
@Resource({ auth: permitAll })
class Place {
  @PrimaryColumn() id!: number
  @Column({ length: 20 }) code!: string
  @AfterLoad() hide(): void {
    this.code = 'hidden'
  }
}

/** Not a resource. */
@Entity()
class Vault {
  @PrimaryColumn() id!: number
  @Column({ length: 20 }) code!: string
}

@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryColumn() id!: number
  @Column({ type: 'int', nullable: true }) due!: number | null
  @Column({ type: 'text', nullable: true }) body!: string | null
  @ManyToOne(() => Person) assignee!: Relation<Person> | null
  @ManyToOne(() => Place) place!: Relation<Place> | null
  @ManyToOne(() => Vault) vault!: Relation<Vault> | null
  @ManyToOne(() => Task) parent!: Relation<Task> | null
  @ManyToMany(() => Tag) @JoinTable() tags!: Relation<Tag>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Tag, Place, Vault, Task],
    seed: async ({ manager }) => {
      const bea = await manager.save(Person, { id: 2, name: 'bea', boss: null })
      const ann = await manager.save(Person, { id: 1, name: 'ann', boss: bea })
      const nobody = await manager.save(Person, { id: 3, name: null, boss: ann })
      const place = await manager.save(Place, { id: 1, code: 'x' })
      const people = [ann, bea, nobody, null]
      for (let id = 1; id <= 8; id++) {
        const parent = id > 4 ? await manager.findOneByOrFail(Task, { id: id - 4 }) : null
        const due = id % 3 === 0 ? null : id % 2
        const body = id === 8 ? 'z'.repeat(60_000) : id === 7 ? null : `body ${id}`
        await manager.save(Task, { id, due, body, assignee: people[id % 4] ?? null, place, parent })
      }
    },
  })
})
afterAll(() => world.close())
const { get, ids } = apiOf(() => world.url)

/**
 * Orderings and the expected ids. The names of `assignee` are: bea, null, no assignee, ann, and the same again. The days of `due` are: 1,
 * 0, null, 0, 1, null, 1, 0.
 */
const orderings: readonly (readonly [ordering: string, expected: readonly number[]])[] = [
  ['assignee__name', [2, 3, 6, 7, 4, 8, 1, 5]],
  ['-assignee__name', [1, 5, 4, 8, 2, 3, 6, 7]],
  ['assignee__name__nullslast', [4, 8, 1, 5, 2, 3, 6, 7]],
  ['-assignee__name__nullsfirst', [2, 3, 6, 7, 1, 5, 4, 8]],
  ['assignee__name,-id', [7, 6, 3, 2, 8, 4, 5, 1]],
  ['assignee__boss__name', [1, 3, 5, 7, 2, 6, 4, 8]],
  ['assignee__boss_id,-due', [1, 5, 7, 3, 2, 6, 4, 8]],
  ['assignee__id', [3, 7, 4, 8, 1, 5, 2, 6]],
  ['parent__due,-id', [7, 4, 3, 2, 1, 8, 6, 5]],
  ['due', [3, 6, 2, 4, 8, 1, 5, 7]],
  ['due__nullsfirst', [3, 6, 2, 4, 8, 1, 5, 7]],
  ['due__nullslast', [2, 4, 8, 1, 5, 7, 3, 6]],
  ['-due', [1, 5, 7, 2, 4, 8, 3, 6]],
  ['-due__nullslast', [1, 5, 7, 2, 4, 8, 3, 6]],
  ['-due__nullsfirst', [3, 6, 1, 5, 7, 2, 4, 8]],
  ['due__nullslast,-assignee__name__nullslast', [4, 8, 2, 1, 5, 7, 3, 6]],
  // Only the first sort key of a field has an effect.
  ['due__nullslast,-due', [2, 4, 8, 1, 5, 7, 3, 6]],
  ['id__nullslast', [1, 2, 3, 4, 5, 6, 7, 8]],
]

describe.each(orderings)('ordering=%s', (ordering, expected) => {
  test('a page with all records has this order', async () => {
    expect(await ids(`task/?ordering=${ordering}`)).toEqual(expected)
  })

  test('pages by number and by keyset have this order, forwards and backwards', async () => {
    for (const after of ['', '&after=']) {
      const pages = await readPages(world.url, `/api/task/?ordering=${ordering}&limit=3${after}`)
      expect(idsOf(pages)).toEqual(expected)
      const before = await readPage(world.url, pages.at(-1)?.meta.previous ?? '')
      expect(idsOf([before])).toEqual(expected.slice(3, 6))
    }
  })
})

test('a filter and an ordering by the same relation join it once', async () => {
  world.statements()
  expect(await ids('task/?assignee__name__is=not_null&ordering=assignee__name')).toEqual([4, 8, 1, 5])
  expect(world.statements().join().match(/JOIN/g)).toHaveLength(1)
})

test('a long related value is in no token, and paging continues', async () => {
  const { meta, objects } = (await get('task/?ordering=-parent__body&limit=1&after=')).json() as {
    meta: { next: string }
    objects: { id: number }[]
  }
  expect([objects[0]?.id, meta.next.length < 500]).toEqual([8, true])
  expect(((await send(world.url, `GET ${meta.next}`)).json() as { objects: { id: number }[] }).objects).toMatchObject([
    { id: 7 },
  ])
})

test('a value that a listener hides is in no token', async () => {
  const { meta } = (await get('task/?ordering=place__code&limit=2&after=')).json() as { meta: { next: string } }
  expect(meta.next).toBe('/api/task/?ordering=place__code&limit=2&page=2')
})

test('a token for one position of nulls is invalid for another', async () => {
  const { meta } = (await get('task/?ordering=due&limit=2&after=')).json() as { meta: { next: string } }
  const other = await send(world.url, `GET ${meta.next.replace('ordering=due', 'ordering=due__nullslast')}`)
  expect(other.status).toBe(400)
})

test.each([
  ['assignee__salary', 'names "assignee__salary", which contains salary, which is not a field of person; fields:'],
  ['assignee__nme', 'names "assignee__nme", which contains nme, which is not a field of person; fields: id'],
  [
    'vault__code',
    'names "vault__code", which has the unknown suffix "code"; only nullsfirst and nullslast can follow a field',
  ],
  [
    'tags__id',
    'names "tags__id", which leads to several records through tags; only relations to one record can be followed',
  ],
  ['tags', 'leads to tag records'],
  ['due__last', 'has the unknown suffix "last"; only nullsfirst and nullslast can follow a field'],
  ['due__nullslast__nullsfirst', 'has the unknown suffix "nullslast__nullsfirst"'],
  ['nullslast', 'which is not a field of task'],
  ['assignee__boss__boss__boss__boss__name', 'follows too many relations; at most 4 are allowed'],
])('ordering=%s is 400', async (ordering, message) => {
  const reply = await get(`task/?ordering=${ordering}`)
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  expect([reply.status, errors[0]?.field]).toEqual([400, 'ordering'])
  expect(errors[0]?.message).toContain(message)
})
