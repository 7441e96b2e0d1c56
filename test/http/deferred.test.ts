import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation, Unique } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { send } from '../client'
import { isSqlite } from '../world/leg'
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

let world: World
let ids: readonly number[]
beforeAll(async () => {
  world = await openWorld({ entities: [Step, IdempotencyKey] })
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
