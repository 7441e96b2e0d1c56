import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: () => anonymous })
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

/** As each database says it; SQLite's columns take every type. */
const change = isPostgres
  ? 'ALTER TABLE "item" ALTER COLUMN "amount" TYPE numeric(5)'
  : isMariadb
    ? 'ALTER TABLE "item" MODIFY "amount" bigint NOT NULL'
    : 'ALTER TABLE "item" ADD COLUMN "other" text'

test('a table that changes under a running site: what was prepared for it before is of use still, or made anew', async () => {
  const ask = async (): Promise<readonly unknown[]> => {
    const made = await post('item', { amount: 1 })
    const id = Object(made.json()).id
    const changed = await put(`item/${id}`, { amount: 2 })
    return [made.status, changed.status, (await get(`item/${id}`)).status, (await get('item?amount__gte=2')).status]
  }
  // On every connection of the pool.
  for (let time = 0; time < 3; time++) await Promise.all([1, 2, 3, 4, 5].map(ask))
  await world.sql(change)
  const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(ask))
  expect(answers).toEqual(answers.map(() => [201, 200, 200, 200]))
})
