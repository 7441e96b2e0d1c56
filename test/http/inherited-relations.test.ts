import {
  ChildEntity,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Relations to an entity that has subclasses in the same table. */

@Entity()
@Resource({ auth: permitAll })
class Owner {
  @PrimaryColumn() id!: number
  @OneToMany(
    () => Circle,
    ({ owner }) => owner,
  )
  circles!: Relation<Circle>[]
  @OneToOne(
    () => Circle,
    ({ soleOwner }) => soleOwner,
  )
  sole!: Relation<Circle>
}

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Shape {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20, default: '' }) label!: string
}

@ChildEntity("o'circle")
@Resource({ auth: permitAll })
class Circle extends Shape {
  @ManyToOne(
    () => Owner,
    ({ circles }) => circles,
    { nullable: true },
  )
  owner!: Relation<Owner> | null
  @OneToOne(
    () => Owner,
    ({ sole }) => sole,
    { nullable: true },
  )
  @JoinColumn()
  soleOwner!: Relation<Owner> | null
}

@ChildEntity('ring')
@Resource({ auth: permitAll })
class Ring extends Circle {}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Owner, Shape, Circle, Ring] })
  for (const id of [1, 2, 3]) expect((await post('owner', { id })).status).toBe(201)
  expect((await post('circle', { id: 1, owner_id: 1, soleOwner_id: 1 })).status).toBe(201)
  expect((await post('ring', { id: 2, owner_id: 2, soleOwner_id: 2 })).status).toBe(201)
  expect((await post('shape', { id: 3 })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post } = apiOf(() => world.url)

test.each([
  ['circles__id=1', [1]],
  ['circles__id=2', [2]],
  ['circles__id__is=not_null', [1, 2]],
  ['circles__id__is=null', [3]],
  ['not=(circles__id:2)', [1, 3]],
  ['sole__id=2', [2]],
  ['sole__id__is=null', [3]],
  ['circles__owner__sole__id=2', [2]],
])('Filters through relations: a record of a subclass is a related record: owner/?%s', async (query, ids) => {
  const { objects } = (await get(`owner/?${query}`)).json() as { objects: { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(ids)
})
