import { MaxLength } from 'class-validator'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Records with zero dates, which older programs have stored without strict mode. */

@Entity()
@Resource({ auth: permitAll })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) note!: string
  @Column({ type: 'date' }) day!: string
  @Column({ type: 'datetime' }) at!: Date
}

@Entity()
@Resource({ auth: permitAll })
class Checked {
  @PrimaryGeneratedColumn() id!: number
  @MaxLength(10)
  @Column({ length: 20 })
  note!: string
  @Column({ type: 'datetime' }) at!: Date
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Visit, Checked] })
})
beforeEach(async () => {
  await world.sql(`DELETE FROM "visit"`)
  await world.sql(`DELETE FROM "checked"`)
  await world.sql(
    `INSERT INTO "visit" ("id", "note", "day", "at") VALUES (1, 'old', '0000-00-00', '0000-00-00 00:00:00')`,
  )
  await world.sql(`INSERT INTO "checked" ("id", "note", "at") VALUES (1, 'old', '0000-00-00 00:00:00')`)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, put } = apiOf(() => world.url)

test('a record with zero dates can be sent back with another value', async () => {
  const record = (await get('visit/1')).json() as object
  expect(record).toEqual({ id: 1, note: 'old', day: '0000-00-00', at: 'Invalid Date' })
  expect((await put('visit/1', { ...record, note: 'new' })).json()).toEqual({ ...record, note: 'new' })
})

test('a record with a zero date-time and validators can be changed', async () => {
  expect((await put('checked/1', { note: 'new' })).json()).toEqual({ id: 1, note: 'new', at: 'Invalid Date' })
  expect((await put('checked/1', { at: '2024-05-06 07:08:09' })).json()).toMatchObject({ at: '2024-05-06 07:08:09' })
})
