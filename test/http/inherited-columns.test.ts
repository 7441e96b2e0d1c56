import {
  ChildEntity,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Columns of embedded entities under single-table inheritance: each resource has only those that its own class declares. */

@Entity()
@Resource({ auth: permitAll })
class Place {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

class Address {
  @Column({ type: 'varchar', length: 20, nullable: true }) city!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) pin!: string | null
  @ManyToOne(() => Place, { nullable: true }) place!: Relation<Place> | null
  @ManyToMany(() => Place) @JoinTable() visited!: Relation<Place>[]
}

class Profile {
  @Column({ length: 20, default: '' }) nick!: string
}

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column(() => Profile) profile!: Profile
}

@ChildEntity('staff')
@Resource({ auth: permitAll, exclude: ['address.pin'] })
class Staff extends Person {
  @Column(() => Address) address!: Address
}

/** Has the embedded entity of the class that it extends. */
@ChildEntity('boss')
@Resource({ auth: permitAll, exclude: ['address.pin', 'address.place'] })
class Boss extends Staff {}

@ChildEntity('guest')
@Resource({ auth: permitAll })
class Guest extends Person {}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Place, Person, Staff, Boss, Guest] })
  expect((await post('place', { name: 'Rome' })).status).toBe(201)
  expect((await post('staff', { address: { city: 'Rome', pin: '1234', place_id: 1 } })).status).toBe(201)
  expect((await post('guest', { profile: { nick: 'g' } })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

test.each([
  ['person/1/', { id: 1, profile: { nick: '' } }],
  ['staff/1/', { id: 1, profile: { nick: '' }, address: { city: 'Rome', place_id: 1 } }],
  ['guest/2/', { id: 2, profile: { nick: 'g' } }],
])('Shared tables: %s has the embedded entities that its class declares', async (path, record) => {
  expect((await get(path)).json()).toEqual(record)
})

test('Shared tables: a child has the embedded entities of the class that it extends', async () => {
  const reply = await post('boss', { address: { city: 'Oslo', pin: '1' } })
  expect([reply.status, reply.json()]).toEqual([201, expect.objectContaining({ address: { city: 'Oslo' } })])
})

test.each(['person', 'guest'])('Shared tables: %s cannot be filtered by embedded entities of others', async (name) => {
  for (const field of ['address__pin', 'address__city', 'address__place__name', 'address__visited__name']) {
    const known = await get(`${name}/?${field}=1234`)
    const unknown = await get(`${name}/?${field.replace('address', 'nothing')}=1234`)
    expect([known.status, known.text.replaceAll('address', 'nothing')]).toEqual([400, unknown.text])
  }
})

test('Shared tables: the parent cannot write an embedded entity of a child', async () => {
  const reply = await put('person/1', { address: { pin: '9' } })
  expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{ field: 'address' }] }])
})
