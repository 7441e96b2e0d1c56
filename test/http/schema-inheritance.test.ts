import { type ColumnOptions, EntitySchema, type EntitySchemaColumnOptions } from 'typeorm'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Inheritance between classes whose columns are declared in an `EntitySchema`, not by decorators. */

class Person {
  id!: number
  name!: unknown
}
class Staff extends Person {
  address!: unknown
}
class Guest extends Person {}
class Card {
  id!: number
}
class ClosedCard extends Card {}

type Row = { id: number } & Record<string, unknown>
const id: EntitySchemaColumnOptions = { type: 'int', primary: true, generated: true }
const text: EntitySchemaColumnOptions = { type: 'varchar', length: 20, nullable: true }
const discriminator: ColumnOptions = { type: 'varchar', length: 20, name: 'kind' }

const placeSchema = new EntitySchema<Row>({ name: 'Place', columns: { city: text, pin: text } as never })
const nameSchema = new EntitySchema<Row>({ name: 'Name', columns: { first: text } as never })

const schemas = [
  new EntitySchema<Row>({
    name: 'Person',
    target: Person,
    inheritance: { pattern: 'STI', column: discriminator as never },
    columns: { id },
    embeddeds: { name: { schema: nameSchema } } as never,
  }),
  new EntitySchema<Row>({
    name: 'Staff',
    target: Staff,
    type: 'entity-child',
    discriminatorValue: 'staff',
    columns: { note: text } as never,
    embeddeds: { address: { schema: placeSchema } } as never,
  }),
  new EntitySchema<Row>({
    name: 'Guest',
    target: Guest,
    type: 'entity-child',
    discriminatorValue: 'guest',
    columns: { note: { ...text, select: false } } as never,
    embeddeds: { address: { schema: placeSchema } } as never,
  }),
  new EntitySchema<Row>({ name: 'Card', target: Card, columns: { id, code: text } as never }),
  new EntitySchema<Row>({
    name: 'ClosedCard',
    target: ClosedCard,
    columns: { code: { ...text, select: false } } as never,
  }),
]
const resources = ['Person', 'Staff', 'Guest', 'Card', 'ClosedCard'].map((entity) => ({ entity, auth: permitAll }))

/** The entities in both forms that a data source accepts. */
const forms: readonly (readonly [string, readonly EntitySchema<Row>[] | Record<string, EntitySchema<Row>>])[] = [
  ['an array', schemas],
  ['an object', { ...schemas }],
]

describe.each(forms)('entities in %s', (_, entities) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: entities as EntitySchema[], mount: { resources } })
    const body = { name: { first: 'Ann' }, note: 'n', address: { city: 'Rome', pin: '1234' } }
    for (const name of ['staff', 'guest']) expect((await post(name, body)).status).toBe(201)
    for (const name of ['card', 'closedcard']) expect((await post(name, { code: 'c' })).status).toBe(201)
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, post, put } = apiOf(() => world.url)

  const name = { first: 'Ann' }
  const address = { city: 'Rome', pin: '1234' }
  test.each([
    ['person/1/', { id: 1, name }],
    ['staff/1/', { id: 1, name, note: 'n', address }],
    ['guest/2/', { id: 2, name, address }],
    ['card/1/', { id: 1, code: 'c' }],
    ['closedcard/1/', { id: 1 }],
  ])('Hidden fields: %s has what its own schema shows', async (path, record) => {
    expect((await get(path)).json()).toEqual(record)
  })

  test.each(['person/?address__pin=1234', 'guest/?note=n', 'closedcard/?code=c'])(
    'Hidden fields: %s is 400',
    async (path) => {
      expect((await get(path)).status).toBe(400)
    },
  )

  test('Shared tables: the parent cannot write an embedded entity of its children', async () => {
    const reply = await put('person/1', { address: { pin: '9' } })
    expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{ field: 'address' }] }])
  })
})
