import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ type: 'simple-json' }) details!: number[]
}

@Entity()
@Resource({ auth: permitAll })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

/** Has a rule that returns a principal whose id is not a valid key of a member. */
@Entity()
@Resource({ auth: () => ({ id: 'root' }), ownerField: 'member' })
class Locker {
  @PrimaryGeneratedColumn() id!: number
  @Column() label!: string
  @ManyToOne(() => Member) member!: Member
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Report, Member, Locker] })
})
afterAll(() => world.close())

const { get, put } = apiOf(() => world.url)

test('Sending back what was read: a value that is shown with fewer digits than it is stored with does not change when it is sent back alone', async () => {
  const stored = '[12345678901234567890]'
  await world.sql(`INSERT INTO "report" ("title", "details") VALUES ('long', '${stored}')`)
  const { details } = Object((await get('report/1')).json())
  expect(details).toEqual([Number('12345678901234567890')])
  expect((await put('report/1', { details })).status).toBe(200)
  expect(await world.sql('SELECT "details" FROM "report"')).toEqual([{ details: stored }])
})

test('Order of checks: a record that does not exist is 404, whatever principal the rule returns', async () => {
  expect((await put('locker/7', { label: 'new' })).status).toBe(404)
})

/** SQL of a generated column, as in a migration, which the entity does not declare. */
const compute = isPostgres
  ? [
      'ALTER TABLE "report" DROP COLUMN "title"',
      `ALTER TABLE "report" ADD COLUMN "title" text GENERATED ALWAYS AS ('made') STORED`,
    ]
  : [`UPDATE "report" SET "title" = 'made'`]

test('the value of a column that only the database can write can be sent back', async () => {
  for (const statement of compute) await world.sql(statement)
  expect((await put('report/1', { title: 'made' })).status).toBe(200)
  expect(world.faults).toEqual([])
})
