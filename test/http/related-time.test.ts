import {
  Column,
  type DataSource,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Filters through a to-many relation take time in proportion to the number of records, and not to its product with the number of related
 * records.
 */

@Entity()
@Resource({ auth: permitAll })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToMany(() => Person)
  @JoinTable({ joinColumn: { name: 'one' }, inverseJoinColumn: { name: 'other' } })
  friends!: Relation<Person>[]
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
  @Index()
  @ManyToOne(
    () => Person,
    (person) => person.notes,
  )
  author!: Relation<Person>
  @Column() title!: string
}

const people = 4000
/** Number of people without friends, which are the first ones, and of people without notes, which are the last ones. */
const lonely = 400

async function seed(dataSource: DataSource): Promise<void> {
  const { driver } = dataSource
  const numbers = Array.from({ length: people }, (_, index) => index + 1)
  await insertRows(
    dataSource,
    Person,
    numbers.map((id) => ({ id, name: 'p' })),
  )
  const notes = numbers.slice(0, 20).map((id) => ({ id, title: 't', author: { id: 1 } }))
  await insertRows(dataSource, Note, notes)
  const [person, note, friend] = ['person', 'note', 'person_friends_person'].map((name) => driver.escape(name))
  const authorId = driver.escape('authorId')
  // Each note of the first person represents a number from 1 to 20.
  await dataSource.query(
    `INSERT INTO ${friend} (one, other)
      SELECT p.id, 1 + (p.id + n.id * 37) % ${people} FROM ${person} p, ${note} n WHERE p.id > ${lonely}`,
  )
  await dataSource.query(
    `INSERT INTO ${note} (${authorId}, title)
      SELECT p.id, 't' FROM ${person} p, ${note} n WHERE p.id > 1 AND p.id <= ${people - lonely}`,
  )
  if (isPostgres) await dataSource.query('ANALYZE')
}

let world: World
beforeAll(async () => {
  // With little memory PostgreSQL chooses the same plans as with the default memory and forty times as many records.
  const source = isPostgres ? { source: { extra: { options: '-c work_mem=64kB' } } } : {}
  world = await openWorld({ entities: [Person, Note], seed, ...source })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get } = apiOf(() => world.url)

test.each([
  ['friends__name=p', people - lonely],
  ['not=(friends__name:p)', lonely],
  ['not=(notes__title:t)', lonely],
  ['friends__id__is=null', lonely],
  ['notes__id__is=null', lonely],
  ['friends__id__is=null&notes__title=t', lonely],
  ['or=(friends__name__ne:q,name:z)', people - lonely],
  ['or=(friends__id__is:null,name:z)&ordering=-name', lonely],
  ['not=(or(friends__name:p,notes__title:t))', 0],
  ['not=(friends__friends__name:p)', lonely],
  ['or=(friends__friends__id__is:null,name:z)', 1141],
])('%s finds its records within the time limit of statements', async (query, total) => {
  const reply = await get(`person/?${query}&limit=5&count=exact`)
  expect([reply.status, reply.json()]).toMatchObject([200, { meta: { total } }])
})

test.each([
  ['note/?author__friends__name__ne=p', 0],
  [
    `person/?${['friends__name__ne:q', 'friends__name__ne:q', 'notes__title__ne:q', 'notes__title__ne:t'].map((filter) => `and=(${filter})`).join('&')}`,
    0,
  ],
])('the times of several relations add up: %s', async (path, total) => {
  const reply = await get(`${path}&limit=5&count=exact`)
  expect([reply.status, reply.json()]).toMatchObject([200, { meta: { total } }])
})
