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

/** Lists of related records with a filter that follows a relation and finds nothing are read without one scan for each list. */

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

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query(`INSERT INTO writer (name) SELECT 'w' FROM generate_series(1, 1000)`)
  await dataSource.query(
    `INSERT INTO text ("writerId") SELECT 1 + number % 1000 FROM generate_series(1, 100000) number`,
  )
  await dataSource.query('ANALYZE writer, text')
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Writer, Text], seed, mount: { statementTimeout: 2000, limit: { max: 1000 } } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get } = apiOf(() => world.url)

test.each(['writer__name:z', 'not(writer__name:w)', 'or(id:0,writer__name:z)', 'writer__texts__id:0'])(
  'a thousand lists with the filter %s',
  async (filter) => {
    const reply = await get(`writer/?limit=1000&include=texts(limit:1,${filter})`)
    const { objects } = reply.json() as { readonly objects?: readonly { readonly texts: readonly unknown[] }[] }
    expect([reply.status, objects?.flatMap(({ texts }) => texts)]).toEqual([200, []])
  },
)
