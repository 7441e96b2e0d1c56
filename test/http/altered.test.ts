import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column() amount!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Item] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

/** Statement that changes the type of a column; on SQLite another one, since its columns accept every type. */
const change = isPostgres
  ? 'ALTER TABLE "item" ALTER COLUMN "amount" TYPE numeric(5)'
  : isMariadb
    ? 'ALTER TABLE "item" MODIFY "amount" bigint NOT NULL'
    : 'ALTER TABLE "item" ADD COLUMN "other" text'

test('requests still succeed after a table has been changed while the site runs and has prepared statements', async () => {
  const readAll = async (): Promise<readonly unknown[]> => {
    const made = await post('item', { amount: 1 })
    const id = Object(made.json()).id
    const changed = await put(`item/${id}`, { amount: 2 })
    return [made.status, changed.status, (await get(`item/${id}`)).status, (await get('item?amount__gte=2')).status]
  }
  // Requests on every connection of the pool.
  for (let time = 0; time < 3; time++) await Promise.all([1, 2, 3, 4, 5].map(readAll))
  await world.sql(change)
  const responses = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(readAll))
  expect(responses).toEqual(responses.map(() => [201, 200, 200, 200]))
})
