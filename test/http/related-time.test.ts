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
import { anonymous, Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Filters through a relation to many take time in proportion to the records, not to the records times the related ones. */

@Entity()
@Resource({ auth: () => anonymous })
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
@Resource({ auth: () => anonymous })
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
/** The first people have no friends, and the last ones no notes. */
const lonely = 400

async function seed(dataSource: DataSource): Promise<void> {
  const { driver } = dataSource
  const insert = (entity: typeof Person | typeof Note, rows: readonly object[]): Promise<unknown> =>
    dataSource
      .createQueryBuilder()
      .insert()
      .into(entity)
      .values([...rows])
      .updateEntity(false)
      .execute()
  const numbers = Array.from({ length: people }, (_, index) => index + 1)
  for (let first = 0; first < people; first += 1000) {
    await insert(
      Person,
      numbers.slice(first, first + 1000).map((id) => ({ id, name: 'p' })),
    )
  }
  await insert(
    Note,
    Array.from({ length: 20 }, (_, index) => ({ id: index + 1, title: 't', author: { id: 1 } })),
  )
  const [person, note, friend] = ['person', 'note', 'person_friends_person'].map((name) => driver.escape(name))
  const authorId = driver.escape('authorId')
  // Each note of the first person stands for one number from 1 to 20.
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
  // With little memory PostgreSQL plans as it does with the default and forty times as many records.
  const source = isPostgres ? { source: { extra: { options: '-c work_mem=64kB' } } } : {}
  world = await openWorld({ entities: [Person, Note], seed, mount: { statementTimeout: 3000 }, ...source })
}, 60_000)
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
])(
  '%s is found soon',
  async (query, total) => {
    const reply = await get(`person/?${query}&limit=5&count=exact`)
    expect([reply.status, reply.json()]).toMatchObject([200, { meta: { total } }])
  },
  30_000,
)
