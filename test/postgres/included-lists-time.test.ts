import {
  Column,
  type DataSource,
  Entity,
  Index,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Lists of related records are read without one scan of the table for each list that has fewer records than its limit. */

@Entity()
@Resource({ auth: permitAll })
class Writer {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @OneToMany(
    () => Text,
    ({ writer }) => writer,
  )
  texts!: Relation<Text>[]
  @OneToMany(
    () => Note,
    ({ writer }) => writer,
  )
  notes!: Relation<Note>[]
}

@Entity()
@Resource({ auth: permitAll })
class Text {
  @PrimaryGeneratedColumn() id!: number
  @Index()
  @ManyToOne(
    () => Writer,
    ({ texts }) => texts,
  )
  writer!: Relation<Writer>
}

/** Half of the writers have notes. */
@Entity()
@Resource({ auth: permitAll })
@Index(['writer', 'rank'])
@Index(['writer', 'grade'], { where: 'grade = 7' })
@Index(['writer', 'state'])
@Index(['state', 'id'])
@Index(['state', 'rank'])
@Index(['writer', 'size'])
@Index(['state', 'size', 'id'])
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() @Index() status!: number
  @Column() @Index() rank!: number
  @Column() state!: number
  @Column() @Index() grade!: number
  @Column() size!: number
  @ManyToOne(
    () => Writer,
    ({ notes }) => notes,
  )
  writer!: Relation<Writer>
}

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query(`INSERT INTO writer (name) SELECT 'w' FROM generate_series(1, 1000)`)
  await dataSource.query(
    `INSERT INTO text ("writerId") SELECT 1 + number % 1000 FROM generate_series(1, 100000) number`,
  )
  await dataSource.query(
    'INSERT INTO note ("writerId", status, rank, state, grade, size) SELECT 1 + number % 500, number % 2, -number, number % 2, number, number % 7 FROM generate_series(0, 99999) number',
  )
  await dataSource.query('ANALYZE writer, text, note')
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Writer, Text, Note],
    seed,
    mount: { statementTimeout: 2000, limit: { max: 1000 } },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get } = apiOf(() => world.url)

/** Id of the first note of a writer with the size 0. */
function firstOfSmallest(writer: number): number {
  const ids = Array.from({ length: 7 }, (_, index) => writer + index * 500)
  return ids.find((id) => (id - 1) % 7 === 0) ?? 0
}

test.each(['writer__name:z', 'not(writer__name:w)', 'or(id:0,writer__name:z)', 'writer__texts__id:0'])(
  'a thousand lists with the filter %s',
  async (filter) => {
    const reply = await get(`writer/?limit=1000&include=texts(limit:1,${filter})`)
    const { objects } = reply.json() as { readonly objects?: readonly { readonly texts: readonly unknown[] }[] }
    expect([reply.status, objects?.flatMap(({ texts }) => texts)]).toEqual([200, []])
  },
)

test.each([
  ['limit:1', (writer: number) => [writer]],
  ['limit:2,ordering:-id', (writer: number) => [99_500 + writer, 99_000 + writer]],
  ['limit:1,ordering:rank', (writer: number) => [99_500 + writer]],
  // A partial index does not have the records in this order.
  ['limit:1,ordering:grade', (writer: number) => [writer]],
  // An index of all notes has more of the order than that of the notes of each writer.
  ['limit:1,ordering:state', (writer: number) => [writer]],
  ['limit:1,ordering:(state,rank)', (writer: number) => [99_500 + writer]],
  ['limit:2,ordering:(-state,-rank)', (writer: number) => [writer, 500 + writer]],
  ['limit:1,status:1', (writer: number) => (writer % 2 === 0 ? [writer] : [])],
  // Of the notes with a state, an index has more of the order than that of the notes of each writer.
  ['limit:1,state:1,ordering:size', (writer: number) => (writer % 2 === 0 ? [firstOfSmallest(writer)] : [])],
  ['limit:1,status:1,ordering:-rank', (writer: number) => (writer % 2 === 0 ? [writer] : [])],
])('a thousand lists with the options %s, of which half are empty', async (options, expected) => {
  const reply = await get(`writer/?limit=1000&include=notes(${options})`)
  const { objects } = reply.json() as { readonly objects?: readonly { readonly notes: readonly { id: number }[] }[] }
  expect(reply.status).toBe(200)
  const found = objects?.map(({ notes }) => notes.map(({ id }) => id))
  expect(found).toEqual(Array.from({ length: 1000 }, (_, index) => (index < 500 ? expected(index + 1) : [])))
})
