import { Column, type DataSource, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { Person } from '../support/person'
import { openWorld, type World } from '../world/world'

/** Filters that follow several to-many relations. */

@Entity()
@Resource({ auth: permitAll })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Author, { nullable: true }) author!: Relation<Author> | null
}

@Entity()
@Resource({ auth: permitAll })
class Author {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true }) name!: string | null
  @ManyToOne(() => Author, { nullable: true }) boss!: Relation<Author> | null
  @OneToMany(
    () => Note,
    (note) => note.author,
  )
  notes!: Relation<Note>[]
}

@Entity()
@Resource({ auth: permitAll })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true }) title!: string | null
  @ManyToOne(
    () => Author,
    (author) => author.notes,
    { nullable: true },
  )
  author!: Relation<Author> | null
}

const people = 1000
const friendsOf = (person: number): readonly number[] =>
  Array.from({ length: 20 }, (_, index) => ((person * 31 + index * index * 17 + index) % people) + 1)

async function seed(dataSource: DataSource): Promise<void> {
  const numbers = Array.from({ length: people }, (_, index) => index + 1)
  const rows = numbers.map((id) => ({ id, name: `p${id}` }))
  await insertRows(dataSource, Person, rows)
  const table = dataSource.driver.escape('person_friends_person')
  for (let first = 0; first < people; first += 100) {
    const pairs = numbers
      .slice(first, first + 100)
      .flatMap((id) => [...new Set(friendsOf(id))].map((friend) => `(${id},${friend})`))
    await dataSource.query(`INSERT INTO ${table} VALUES ${pairs.join(', ')}`)
  }
  const authors = dataSource.getRepository(Author)
  await authors.insert([
    { id: 1, name: 'no notes' },
    { id: 2, name: null },
    { id: 3, name: 'boss of one', boss: { id: 2 } },
    { id: 4, name: 'with boss', boss: { id: 1 } },
  ])
  await dataSource.getRepository(Note).insert([
    { id: 1, title: 'a', author: { id: 2 } },
    { id: 2, title: null, author: { id: 3 } },
    { id: 3, title: 'b', author: { id: 3 } },
    { id: 4, title: 'c', author: { id: 4 } },
    { id: 5, title: 'd', author: null },
  ])
  await dataSource.getRepository(Book).insert([
    { id: 1, author: null },
    { id: 2, author: { id: 1 } },
    { id: 3, author: { id: 2 } },
    { id: 4, author: { id: 3 } },
    { id: 5, author: { id: 4 } },
  ])
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Person, Book, Author, Note], seed })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { ids } = apiOf(() => world.url)

/** The ids of the people from whom a chain of friends leads to one of the targets. */
function peopleBefore(targets: ReadonlySet<number>, steps: number): ReadonlySet<number> {
  if (steps === 0) return targets
  const all = Array.from({ length: people }, (_, index) => index + 1)
  return peopleBefore(
    new Set(all.filter((person) => friendsOf(person).some((friend) => targets.has(friend)))),
    steps - 1,
  )
}

// With a join of all rows in the chain, each of these filters would take from half a minute to several minutes.
test.each([
  ['friends__friends__friends__friends__name__ne=z', 1],
  ['friends__friends__friends__friends__name=z', 0],
  ['friends__friends__friends__friends__name__is=null', 0],
  ['friends__friends__friends__friends__name__ne=z&friends__friends__name__ne=z&friends__name__ne=z', 1],
])('%s finds its records within the time limit', async (query, count) => {
  expect(await ids(`person/?${query}&limit=1`)).toHaveLength(count)
})

test.each([1, 2, 3])('a chain of %d relations finds the records at its end', async (steps) => {
  const name = `${'friends__'.repeat(steps)}name`
  const found = await ids(`person/?${name}__in=p7,p11&limit=1000`)
  expect(new Set(found)).toEqual(peopleBefore(new Set([7, 11]), steps))
})

/** If a path leads to no record, all of its fields are null. */
test.each([
  ['book/?author__name__is=null', [1, 3]],
  ['book/?author__boss__name__is=null', [1, 2, 3, 4]],
  ['book/?author__boss__name__is=not_null', [5]],
  ['book/?author__notes__title__is=null', [1, 2, 4]],
  ['book/?author__notes__title__is=not_null', [3, 4, 5]],
  ['book/?author__boss__notes__title__is=null', [1, 2, 3, 5]],
  ['book/?author__boss__notes__title__ne=z', [4]],
  ['author/?notes__title__is=null', [1, 3]],
  ['author/?notes__author__notes__title__is=null', [1, 3]],
  ['author/?notes__author__boss__name__is=null', [1, 2, 3]],
  ['note/?author__notes__title__is=null', [2, 3, 5]],
  ['note/?author__boss__notes__title__is=null', [1, 4, 5]],
  ['note/?author__notes__title__is=null&author__notes__id=3', []],
  ['note/?author__notes__title__is=null&author__boss__name__is=null', [2, 3, 5]],
])('%s', async (path, expected) => {
  expect(await ids(`${path}${path.includes('?') ? '&' : '?'}ordering=id`)).toEqual(expected)
})
