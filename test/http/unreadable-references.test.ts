import { Column, Entity, JoinColumn, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Foreign keys with values that the database cannot compare with the keys. */

const code = isPostgres
  ? ({ type: 'interval' } as const)
  : ({ type: 'varchar', length: 20, ...(isMariadb && { charset: 'utf8mb3' }) } as const)

@Entity()
@Resource({ auth: permitAll, name: 'tariff' })
class Plan {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...code, unique: true }) code!: string
}

@Entity()
@Resource({ auth: permitAll })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, default: '' }) title!: string
  @ManyToOne(() => Plan, { nullable: true })
  @JoinColumn({ referencedColumnName: 'code' })
  plan!: Relation<Plan> | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Plan, Visit] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

const known = isPostgres ? '01:00:00' : 'abc'
const unreadable = isPostgres ? 'PYMD' : 'x😀'

test('Foreign keys: a value that the database cannot compare with the key refers to no record', async () => {
  expect((await post('tariff', { code: known })).status).toBe(201)
  expect((await post('visit', { plan_id: known })).json()).toMatchObject({ id: 1, plan_id: known })
  for (const refused of [await post('visit', { plan_id: unreadable }), await put('visit/1', { plan_id: unreadable })]) {
    expect([refused.status, refused.json()]).toMatchObject([
      400,
      { errors: [{ field: 'plan_id', message: 'points to no tariff' }] },
    ])
  }
  expect((await get('visit/')).json()).toMatchObject({ objects: [{ id: 1, plan_id: known }] })
})
