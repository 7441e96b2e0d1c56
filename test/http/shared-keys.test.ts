import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Refers to a record with the same `region`: this column of the foreign key refers to itself. */
@Entity()
@Resource({ auth: permitAll })
class Account {
  @PrimaryColumn({ type: 'varchar', length: 10 }) region!: string
  @PrimaryColumn({ type: 'int' }) serial!: number
  @Column({ type: 'int', nullable: true }) parentSerial!: number | null
  @ManyToOne(() => Account)
  @JoinColumn([
    { name: 'region', referencedColumnName: 'region' },
    { name: 'parentSerial', referencedColumnName: 'serial' },
  ])
  parent!: Account | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Account] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, put, ids } = apiOf(() => world.url)

test('a foreign key to the same table can contain a column of the key', async () => {
  expect((await post('account', { region: 'eu', serial: 1 })).status).toBe(201)
  expect((await post('account', { region: 'us', serial: 2 })).status).toBe(201)
  const child = await post('account', { region: 'eu', serial: 3, parentSerial: 1 })
  expect(child.json()).toMatchObject({ id: 'eu,3', region: 'eu', parentSerial: 1, parent_id: 'eu,1' })
  expect(await ids('account/?parent__serial=1')).toEqual(['eu,3'])
  expect((await put('account/eu,3', { parentSerial: 2 })).status).toBe(400)
  expect((await put('account/eu,3', { parentSerial: null })).json()).toMatchObject({ parent_id: null })
})
