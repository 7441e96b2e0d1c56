import Koa from 'koa'
import {
  ChildEntity,
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { mountResources, type Principal, Resource, type Rule } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { openWorld, type World } from '../world/world'

/**
 * Relations of embedded entities under single-table inheritance. TypeORM knows the columns of their foreign keys only for
 * the root of the table, so its own join of a child has no condition.
 */

/** The header X-Keeper restricts the keepers that a request sees. */
const auth: Rule = ({ context }) => ({ id: context.get('X-Keeper') })
const visibleKeepers = ({ id }: Principal) => id === '' || { name: String(id) }

@Entity()
@Resource({ auth, scope: visibleKeepers, nested: ['cars'] })
class Keeper {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @OneToMany(
    () => Car,
    ({ garage }) => garage.keeper,
  )
  cars!: Relation<Car>[]
}

class Place {
  @ManyToOne(() => Keeper, { nullable: true }) manager!: Relation<Keeper> | null
}

class Garage {
  @ManyToOne(
    () => Keeper,
    ({ cars }) => cars,
    { nullable: true },
  )
  keeper!: Relation<Keeper> | null
}

@Entity()
@Resource({ auth })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Asset {
  @PrimaryColumn() id!: number
  @Column(() => Place) place!: Place
}

@ChildEntity('car')
@Resource({ auth, aggregate: true })
class Car extends Asset {
  @Column(() => Garage) garage!: Garage
}

@ChildEntity('boat')
@Resource({ auth, scope: { through: 'place.manager' } })
class Boat extends Asset {
  @Column({ type: 'varchar', length: 20, default: '' }) sail!: string
}

@ChildEntity('train')
class Train extends Asset {
  @Column(() => Place) depot!: Place
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Keeper, Asset, Car, Boat, Train] })
  for (const [id, name] of ['ann', 'bob', 'cleo'].entries()) {
    expect((await post('keeper', { id: id + 1, name })).status).toBe(201)
  }
  const car = { id: 1, place: { manager_id: 1 }, garage: { keeper_id: 2 } }
  expect((await post('car', car)).status).toBe(201)
  expect((await post('boat', { id: 2, place: { manager_id: 1 } })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post, put } = apiOf(() => world.url)

test.each([
  ['car/?place__manager__name=ann', [1]],
  ['car/?place__manager__name=bob', []],
  ['car/?garage__keeper__name=bob', [1]],
  ['car/?garage__keeper__name__ne=bob', []],
  ['car/?garage__keeper__cars__id=1', [1]],
  ['car/?ordering=garage__keeper__name', [1]],
  ['keeper/?cars__id=1', [2]],
  ['keeper/?cars__id__is=null', [1, 3]],
  ['keeper/?cars__place__manager__name=ann', [2]],
])('Filters through relations: in an embedded entity of a child entity: %s', async (path, found) => {
  expect(await ids(path)).toEqual(found)
})

test('Related records: those of an embedded entity of a child entity', async () => {
  const car = (await get('car/1/?include=place__manager,garage__keeper')).json()
  expect(car).toMatchObject({ place: { manager: { name: 'ann' } }, garage: { keeper: { name: 'bob' } } })
  const { objects } = (await get('keeper/?include=cars(fields:id)')).json() as { objects: { cars: unknown }[] }
  expect(objects.map(({ cars }) => cars)).toEqual([[], [{ id: 1 }], []])
})

test('Aggregates: by a record that an embedded entity of a child entity refers to', async () => {
  const { objects } = (await get('car/?aggregate=count&by=garage__keeper__name')).json() as { objects: unknown }
  expect(objects).toEqual([{ garage__keeper__name: 'bob', count: 1 }])
})

test('Nested writes: a PUT deletes no record of another parent', async () => {
  expect((await put('keeper/1', { cars: [] })).status).toBe(200)
  expect(await ids('car/')).toEqual([1])
})

test('Row scopes: a scope through a relation of an embedded entity of a child entity', async () => {
  const statusOf = async (keeper: string): Promise<number> =>
    (await send(world.url, 'GET /api/boat/2/', { headers: { 'X-Keeper': keeper } })).status
  expect([await statusOf('ann'), await statusOf('bob')]).toEqual([200, 404])
  expect((await post('boat', { id: 3 })).status).toBe(403)
})

test('Owners: the error for a wrong property lists the relations of embedded entities of a child entity', () => {
  const resources = [{ entity: Train, auth, ownerField: { field: 'id', is: ({ id }: Principal) => id } }]
  expect(() => mountResources(new Koa(), world.dataSource, { resources })).toThrow(
    'not "id"; allowed: place.manager, depot.manager',
  )
})
