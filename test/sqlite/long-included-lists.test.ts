import { Column, type DataSource, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Station {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany('Reading', 'station') readings!: Relation<Reading>[]
}

/** Without an index for its relation: a list of a few stations with their readings sorts all readings. */
@Entity()
@Resource({ auth: permitAll })
class Reading {
  @PrimaryGeneratedColumn() id!: number
  @Column() value!: number
  @ManyToOne(() => Station, 'readings', { nullable: false }) station!: Relation<Station>
}

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query('INSERT INTO station (id) VALUES (1), (2), (3)')
  await dataSource.query(
    'INSERT INTO reading (value, stationId) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1600000) SELECT i, i % 3 + 1 FROM n',
  )
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Station, Reading], seed, mount: { statementTimeout: 200 } })
}, 60_000)
afterAll(() => world.close())

// better-sqlite3 runs statements in the event loop, where only a function of the statement itself could end it.
const [result, status] = leg.driver === 'sqlite' ? ['ends', 503] : ['does not end', 200]

test(`the time limit ${result} included lists that are requested at the same time`, async () => {
  const replies = await Promise.all(
    [1, 2].map((limit) => send(world.url, `GET /api/station/?include=readings(limit:${limit},ordering:value)`)),
  )
  expect(replies.map((reply) => reply.status)).toEqual([status, status])
})
