import { registerDecorator } from 'class-validator'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Validators that query through the data source, in as many transactions at the same time as the pool has connections, and more. */

const poolSize = 3
const parallel = 2 * poolSize

/** Queries the database, as a validator of uniqueness does. */
function Checked(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'checked',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: { validate: async (name: string) => !(await world.dataSource.getRepository(Room).existsBy({ name })) },
    })
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Room {
  @PrimaryGeneratedColumn() id!: number
  @Checked() @Column({ length: 40, unique: true }) name!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Room, IdempotencyKey],
    mount: { batch: true },
    source: { extra: isPostgres ? { max: poolSize } : { connectionLimit: poolSize } } as object,
  })
})
afterAll(() => world.close())

const create = (body: unknown, query = '', headers = {}): Promise<Reply> =>
  send(world.url, `POST /api/room/${query}`, { body, headers })

test.each<[string, (name: string) => Promise<Reply>]>([
  ['POST of an array', (name) => create([{ name }])],
  ['upserts', (name) => create({ name }, '?on_conflict=name')],
  [
    'batches',
    (name) => send(world.url, 'POST /api/-/batch', { body: [{ method: 'POST', path: '/api/room/', body: { name } }] }),
  ],
  ['POST with a key', (name) => create({ name }, '', { 'Idempotency-Key': encodeURIComponent(name) })],
])('%s at the same time: each gets a connection for its validators', async (what, write) => {
  const replies = await Promise.all(Array.from({ length: parallel }, (_, index) => write(`${what} ${index}`)))
  expect(replies.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  expect(await world.dataSource.getRepository(Room).count()).toBeGreaterThanOrEqual(parallel)
})
