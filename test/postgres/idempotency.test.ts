import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Writes with an `Idempotency-Key` on PostgreSQL, where an error makes all further statements of a transaction fail. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Task {
  @PrimaryColumn({
    type: 'interval',
    transformer: { to: (text) => text, from: (value) => value?.toPostgres?.() ?? value },
  })
  every!: string
  @Column({ default: '' }) name!: string
}

@Entity()
@Resource({ auth: permitAll })
class Seat {
  @PrimaryGeneratedColumn() id!: number
  @Column() place!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Task, Seat, IdempotencyKey],
    mount: { databaseSettings: () => ({ 'app.tenant': 'one' }) },
  })
  await world.sql('ALTER TABLE "seat" ADD CONSTRAINT once UNIQUE ("place") DEFERRABLE INITIALLY DEFERRED')
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, body: object): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers: { 'Idempotency-Key': 'k1' } })

test('an id that the database cannot read is 404', async () => {
  expect((await request('PATCH task/PYMD/', { name: 'x' })).status).toBe(404)
})

test('a filter that the database cannot read is 400, as without a key', async () => {
  const line = 'PATCH /api/task/?every=PYMD'
  const [keyed, plain] = [
    await request('PATCH task/?every=PYMD', { name: 'x' }),
    await send(world.url, line, { body: { name: 'x' } }),
  ]
  expect([keyed.status, keyed.text]).toEqual([400, plain.text])
})

test('a constraint that is checked by the COMMIT is 409', async () => {
  await send(world.url, 'POST /api/seat/', { body: { place: 1 } })
  const reply = await request('POST seat/', { place: 1 })
  expect(reply.json()).toMatchObject({ status: 409, type: 'urn:typeorm-resources:conflict' })
  expect(await world.sql('SELECT * FROM "idempotency_key"')).toEqual([])
})

test('the settings of the database apply, and the stored response is sent with them', async () => {
  const replies = [await request('POST seat/', { place: 2 }), await request('POST seat/', { place: 2 })]
  expect(replies.map(({ status, headers }) => [status, headers['idempotent-replayed']])).toEqual([
    [201, undefined],
    [201, 'true'],
  ])
})
