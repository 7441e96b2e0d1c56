import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation, Unique } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { send } from '../client'
import { isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Constraints that the database checks at COMMIT (`DEFERRABLE INITIALLY DEFERRED`), as far as it has them. */

@Entity()
@Unique(['code'], { deferrable: 'INITIALLY DEFERRED' })
@Resource({ auth: () => ({ id: 1 }), bulk: true })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10 }) code!: string
  @Column({ length: 10, unique: true }) name!: string
  @ManyToOne(() => Step, { deferrable: 'INITIALLY DEFERRED', nullable: true }) next!: Relation<Step> | null
}

@Entity()
@Resource({ auth: () => ({ id: 1 }), nested: ['entries'] })
class Ranking {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => RankingEntry,
    (entry) => entry.ranking,
  )
  entries!: Relation<RankingEntry>[]
}

@Entity()
@Unique(['ranking', 'position'], { deferrable: 'INITIALLY DEFERRED' })
@Resource({ name: 'entry', auth: () => ({ id: 1 }) })
class RankingEntry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int' }) position!: number
  @ManyToOne(
    () => Ranking,
    (ranking) => ranking.entries,
    { nullable: false },
  )
  ranking!: Relation<Ranking>
}

let world: World
let ids: readonly number[]
beforeAll(async () => {
  world = await openWorld({ entities: [Step, IdempotencyKey, Ranking, RankingEntry] })
  const steps = world.dataSource.getRepository(Step)
  const one = await steps.save({ code: 'one', name: 'one' })
  const two = await steps.save({ code: 'two', name: 'two', next: one })
  ids = [one.id, two.id]
})
afterAll(() => world.close())

const taken = { code: 'one', name: 'new' }
const missing = { code: 'new', name: 'new', next_id: 999 }
const csv = 'code,name\none,new\n'
const key = { 'Idempotency-Key': 'k' }

describe.each([
  ['alone', {}],
  ['with a key', key],
])('%s', (_, keyHeaders) => {
  test.each<[string, string, unknown, number]>([
    ['a record', 'POST step/', taken, 409],
    ['an array', 'POST step/', [taken], 409],
    ['an array with a foreign key', 'POST step/', [missing], 400],
    ['an import', 'POST step/', csv, 409],
    ['an upsert', 'POST step/?on_conflict=name', taken, 409],
    ['upserts', 'POST step/?on_conflict=name', [taken], 409],
    ['an upsert that updates', 'POST step/?on_conflict=name', [{ code: 'one', name: 'two' }], 409],
    ['PATCH of a record', 'PATCH step/TWO/', { code: 'one' }, 409],
    ['PATCH of several', 'PATCH step/?name=two', { code: 'one' }, 409],
    ['DELETE of a record', 'DELETE step/ONE/', undefined, 409],
    ['DELETE of several', 'DELETE step/?name=one', undefined, 409],
  ])('%s that violates one is refused', async (__, template, body, status) => {
    const line = template.replace('ONE', String(ids[0])).replace('TWO', String(ids[1])).replace(' ', ' /api/')
    const type = typeof body === 'string' ? { 'Content-Type': 'text/csv' } : {}
    const reply = await send(world.url, line, { body, headers: { ...type, ...keyHeaders } })
    expect([reply.status, await world.sql('SELECT "code" FROM "step" ORDER BY "id"')]).toEqual([
      status,
      [{ code: 'one' }, { code: 'two' }],
    ])
    expect(world.faults).toEqual([])
  })
})

test.each<[string, unknown, number]>([
  ['POST step/', [taken], 409],
  ['POST step/?on_conflict=name', [taken], 409],
  // SQLite has no statement that checks the deferred constraints of a transaction.
  ['POST step/', [missing], isSqlite ? 200 : 400],
])('dry_run checks them: %s %j', async (line, body, status) => {
  const path = line.replace(' ', ' /api/')
  const reply = await send(world.url, `${path}${path.includes('?') ? '&' : '?'}dry_run=true`, { body })
  expect([reply.status, world.faults]).toEqual([status, []])
})

test('related records can exchange unique values, if the database checks them at COMMIT', async () => {
  const put = async (positions: readonly number[]) => {
    const entries = positions.map((position, index) => ({ id: index + 1, position }))
    return send(world.url, 'PUT /api/ranking/1/', { body: { entries } })
  }
  const created = await send(world.url, 'POST /api/ranking/', { body: { entries: [{ position: 1 }, { position: 2 }] } })
  expect(created.status).toBe(201)
  expect((await put([2, 1])).status).toBe(isPostgres ? 200 : 409)
  const refused = await put([3, 3])
  expect(refused.json()).toMatchObject({
    status: 409,
    detail: expect.stringMatching(
      /^entries(\[1\])?: another entry has the same (ranking_id and position|position and ranking_id)$/,
    ),
  })
  expect(world.faults).toEqual([])
})
