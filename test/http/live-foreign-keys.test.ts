import {
  ChildEntity,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { EventReader } from '../support/event-reader'
import { openWorld, type World } from '../world/world'

/** Live lists report what the database changes by foreign keys (specification: Live lists). */

const open = { auth: permitAll }

@Entity()
@Resource(open)
class Area {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) code!: string
}

/** Its key is the code of an area. */
@Entity()
@Resource(open)
class Region {
  @PrimaryColumn({ length: 20 }) areaCode!: string
  @ManyToOne(() => Area, { onUpdate: 'CASCADE', onDelete: 'CASCADE' })
  @JoinColumn({ name: 'areaCode', referencedColumnName: 'code' })
  area!: Relation<Area>
}

@Entity()
@Resource(open)
@TableInheritance({ column: { type: 'varchar', length: 10 } })
class Place {
  @PrimaryGeneratedColumn() id!: number
}

@ChildEntity()
@Resource(open)
class City extends Place {
  @ManyToOne(() => Area, { onUpdate: 'CASCADE', onDelete: 'CASCADE' })
  @JoinColumn({ referencedColumnName: 'code' })
  area!: Relation<Area>
  @ManyToOne(() => Region, { onUpdate: 'CASCADE', onDelete: 'SET NULL' }) region!: Relation<Region>
}

@Entity()
@Resource(open)
class Street {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => City, { onDelete: 'CASCADE' }) city!: Relation<City>
}

let world: World
const readers: EventReader[] = []
const ask = (line: string, body?: object) => send(world.url, line.replace(' ', ' /api/'), { body })
const watch = async (path: string): Promise<EventReader> => {
  const reader = await EventReader.open(`${world.url}/api/${path}`)
  readers.push(reader)
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['reset'])
  return reader
}
beforeEach(async () => {
  world = await openWorld({ entities: [Area, Region, Place, City, Street], columnOrder: 0, mount: { live: true } })
  for (const [line, body] of [
    ['POST area/', { code: 'n' }],
    ['POST area/', { code: 's' }],
    ['POST region/', { area_id: 's' }],
    ['POST city/', { area_id: 'n', region_id: 's' }],
    ['POST street/', { city_id: 1 }],
  ] as const) {
    const { status, text } = await ask(line, body)
    expect({ line, status, text }).toMatchObject({ status: 201 })
  }
})
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close()
  await world.close()
  expect(world.faults).toEqual([])
})

test('ON UPDATE CASCADE', async () => {
  const [cities, northern, streets] = [
    await watch('city/'),
    await watch('city/?area=n'),
    await watch('street/?include=city'),
  ]
  expect((await ask('PATCH area/1/', { code: 'north' })).status).toBe(200)
  expect(await cities.take(1)).toEqual([['updated', expect.objectContaining({ id: 1, area_id: 'north' })]])
  expect(await northern.take(1)).toEqual([['gone', { id: 1 }]])
  expect(await streets.take(1)).toEqual([
    ['updated', { id: 1, city_id: 1, city: expect.objectContaining({ area_id: 'north' }) }],
  ])
})

test('ON UPDATE CASCADE through a key', async () => {
  const cities = await watch('city/')
  expect((await ask('PATCH area/2/', { code: 'south' })).status).toBe(200)
  expect(await cities.take(1)).toEqual([['updated', expect.objectContaining({ id: 1, region_id: 'south' })]])
})

test('ON DELETE of a foreign key of a child entity', async () => {
  const [places, cities] = [await watch('place/'), await watch('city/')]
  await ask('DELETE area/2/')
  expect(await cities.take(1)).toEqual([['updated', expect.objectContaining({ id: 1, region_id: null })]])
  await ask('DELETE area/1/')
  expect(await cities.take(1)).toEqual([['gone', { id: 1 }]])
  expect(await places.take(1)).toEqual([['gone', { id: 1 }]])
})
