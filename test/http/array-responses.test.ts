import { Column, Entity, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The size of the response to an array, whose records the database can make much longer than the body. */

const repeated = isPostgres || isMariadb ? "repeat('x', 10000)" : 'hex(zeroblob(5000))'

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Price {
  @PrimaryGeneratedColumn() id!: number
  @Column() amount!: number
  @VirtualColumn({ type: 'varchar', query: () => `SELECT ${repeated}` }) text!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Price], mount: { batch: true, limits: { itemBytes: 200_000 } } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
beforeEach(() => world.sql('DELETE FROM "price"'))

const prices = (length: number): readonly object[] => Array.from({ length }, (_, amount) => ({ amount }))
const create = (length: number, query = ''): Promise<Reply> =>
  send(world.url, `POST /api/price/${query}`, { body: prices(length) })
const count = async (): Promise<number> => (await world.sql('SELECT "id" FROM "price"')).length

test('an array whose response would exceed "itemBytes" is 413, and nothing is stored', async () => {
  const refused = await create(21)
  expect([refused.status, refused.text]).toEqual([
    413,
    expect.stringContaining('the response would have more than 200000 bytes (limits.itemBytes): send fewer records'),
  ])
  expect(await count()).toBe(0)
  const stored = await create(19)
  expect(stored.json()).toMatchObject({ meta: { created: 19 }, objects: { length: 19 } })
  expect(await count()).toBe(19)
})

test('a check with dry_run=true renders no records', async () => {
  expect((await create(100, '?dry_run=true')).json()).toEqual({
    meta: { model: 'price', created: 100, dry_run: true },
    objects: [],
  })
  expect(await count()).toBe(0)
})

test('a batch with such an array is 413, and nothing is stored', async () => {
  const operation = { method: 'POST', path: '/api/price/', body: prices(11) }
  const refused = await send(world.url, 'POST /api/-/batch', { body: [operation, operation] })
  expect([refused.status, await count()]).toEqual([413, 0])
})
