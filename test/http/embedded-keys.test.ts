import { BeforeInsert, Column, Entity, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Foreign keys to an entity whose key belongs to an embedded entity. */

class Place {
  @PrimaryColumn() row!: number
  @PrimaryColumn({ type: 'varchar', length: 10 }) seat!: string
}

@Entity()
@Resource({ auth: permitAll, bulk: true, nested: ['followers'] })
class Chair {
  @Column(() => Place) place!: Place
  @Column({ type: 'varchar', length: 10, default: '' }) color!: string
  @ManyToOne(
    () => Chair,
    ({ followers }) => followers,
    { nullable: true },
  )
  leader!: Relation<Chair> | null
  @OneToMany(
    () => Chair,
    ({ leader }) => leader,
  )
  followers!: Relation<Chair>[]
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Ticket {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Chair, { nullable: true }) chair!: Relation<Chair> | null
  @Column({ type: 'varchar', length: 10, default: '' }) label!: string
  @BeforeInsert() setLabel(): void {
    this.label = 'new'
  }
}

class Code {
  @PrimaryColumn() code!: number
}

@Entity()
@Resource({ auth: permitAll, nested: ['rooms'] })
class Hall {
  @Column(() => Code) key!: Code
  @OneToMany(
    () => Room,
    ({ hall }) => hall,
  )
  rooms!: Relation<Room>[]
}

@Entity()
@Resource({ auth: permitAll })
class Room {
  @PrimaryColumn() id!: number
  @ManyToOne(
    () => Hall,
    ({ rooms }) => rooms,
    { nullable: true },
  )
  hall!: Relation<Hall> | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Chair, Ticket, Hall, Room] })
  for (const seat of ['a', 'b']) expect((await post('chair', { place: { row: 1, seat } })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post, put } = apiOf(() => world.url)

test('Foreign keys: a POST and a PUT store the key of a record whose key is in an embedded entity', async () => {
  const created = await post('chair', { place: { row: 2, seat: 'a' }, leader_id: '1,a' })
  expect([created.status, created.json()]).toEqual([201, expect.objectContaining({ leader_id: '1,a' })])
  const changed = await put('chair/2,a', { leader_id: '1,b' })
  expect([changed.status, changed.json()]).toEqual([200, expect.objectContaining({ leader_id: '1,b' })])
  expect(await ids('chair/?leader=1,b')).toEqual(['2,a'])
  expect((await put('chair/2,a', { leader_id: '9,b' })).status).toBe(400)
})

test('Foreign keys: a listener of the entity does not lose them', async () => {
  const created = await post('ticket', { id: 1, chair_id: '1,a' })
  expect(created.json()).toMatchObject({ chair_id: '1,a', label: 'new' })
})

test('Bulk writes: the records of an array have their foreign keys', async () => {
  const chairs = ['a', 'b'].map((seat) => ({ place: { row: 3, seat }, leader_id: `1,${seat}` }))
  expect((await post('chair', chairs)).status).toBe(201)
  expect((await get('chair/3,b/?fields=leader')).json()).toEqual({ id: '3,b', leader_id: '1,b' })
})

test('Nested writes: new records refer to their parent', async () => {
  const chair = { place: { row: 4, seat: 'a' }, followers: [{ place: { row: 4, seat: 'b' } }] }
  expect((await post('chair', chair)).status).toBe(201)
  expect(await ids('chair/?leader=4,a')).toEqual(['4,b'])
})

test('Foreign keys: a key of one column in an embedded entity', async () => {
  expect((await post('hall', { key: { code: 7 }, rooms: [{ id: 1 }] })).status).toBe(201)
  expect((await get('room/1/')).json()).toEqual({ id: 1, hall_id: 7 })
  expect((await post('room', { id: 2, hall_id: 7 })).json()).toEqual({ id: 2, hall_id: 7 })
  expect((await put('room/2', { hall_id: null })).json()).toEqual({ id: 2, hall_id: null })
  expect((await put('room/2', { hall_id: 7 })).json()).toEqual({ id: 2, hall_id: 7 })
})
