import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, VersionColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
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

/** Shows decimals with two digits after the point. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) code!: string
  @Column({ type: 'decimal', precision: 10, scale: 2 }) price!: string
  @VersionColumn() version!: number
}

/** Has a value of a type that only some databases have. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: isPostgres ? 'jsonb' : isMariadb ? 'json' : 'simple-json' }) tags!: unknown
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Report, Member, Locker, Article, Note] })
})
afterAll(() => world.close())

const { get, post, put } = apiOf(() => world.url)

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

test.each(['30', '030.0', '30.00', '30.0000'])('another spelling of a decimal is no change: %s', async (price) => {
  const code = `code${price}`
  const { id } = (await post('article', { code, price: '30' })).json() as { id: number }
  world.statements()
  const replies = [
    await put(`article/${id}`, { price }),
    await send(world.url, 'POST /api/article/?on_conflict=code', { body: [{ code, price }] }),
  ]
  expect(replies.map(({ status }) => status)).toEqual([200, 200])
  expect(world.statements().filter((sql) => sql.startsWith('UPDATE'))).toEqual([])
  expect((await get(`article/${id}`)).json()).toEqual({ id, code, price: '30.00', version: 1 })
})

test('the sign of zero is no change of a decimal', async () => {
  const { id } = (await post('article', { code: 'zero', price: '-0' })).json() as { id: number }
  expect((await put(`article/${id}`, { price: '-0.0' })).json()).toMatchObject({ price: '0.00', version: 1 })
})

test('an array with values of jsonb is inserted by a few statements', async () => {
  const values = [{ a: [1, 'é'] }, [], 'text', 5, false]
  const body = Array.from({ length: 100 }, (_, index) => ({ tags: values[index % values.length] }))
  world.statements()
  const { status, json } = await post('note', body)
  expect([status, json()]).toMatchObject([201, { objects: body }])
  expect(world.statements().filter((sql) => sql.startsWith('INSERT')).length).toBeLessThan(10)
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
