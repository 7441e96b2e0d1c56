import { EntitySchema } from 'typeorm'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Values that are each short enough for their columns, but together too long for a row or for its undo record. */

const names = Array.from({ length: 12 }, (_, index) => `c${index}`)

const entityOf = (name: string, column: object): EntitySchema =>
  new EntitySchema({
    name,
    columns: {
      id: { type: 'int', primary: true },
      ...Object.fromEntries(names.map((property) => [property, { ...column, nullable: true }])),
    },
    indices: name === 'Indexed' ? names.map((property) => ({ columns: [property] })) : [],
  })

/** Its table stores the first 768 bytes of each text in the row, as those of old servers do. */
const compact = entityOf('Compact', { type: 'text' })
/** The undo record of an UPDATE contains the old values of all indexed columns. */
const indexed = entityOf('Indexed', { type: 'varchar', length: 700 })

let world: World
beforeAll(async () => {
  const resources = [compact, indexed].map((entity) => ({ entity, auth: permitAll }))
  world = await openWorld({ entities: [compact, indexed], mount: { resources } })
  await world.dataSource.transaction(async (manager) => {
    await manager.query('SET SESSION innodb_strict_mode = 0')
    await manager.query('ALTER TABLE compact ROW_FORMAT = COMPACT')
    await manager.query('SET SESSION innodb_strict_mode = DEFAULT')
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const bodyOf = (character: string, length: number): object =>
  Object.fromEntries(names.map((name) => [name, character.repeat(length)]))

test.each([
  ['compact', bodyOf('a', 10), bodyOf('a', 1000)],
  ['indexed', bodyOf('😀', 700), bodyOf('😁', 700)],
])('Constraints: values that are too long together are 400 (%s)', async (resource, accepted, tooLong) => {
  expect((await send(world.url, `POST /api/${resource}/`, { body: { id: 1, ...accepted } })).status).toBe(201)
  const reply = await send(world.url, `PUT /api/${resource}/1/`, { body: tooLong })
  expect([reply.status, reply.json()]).toMatchObject([
    400,
    { detail: `the database does not accept these values for a ${resource}` },
  ])
  expect((await send(world.url, `GET /api/${resource}/1/`)).json()).toMatchObject(accepted)
})

test('Constraints: a new record that is too long for a row is 400', async () => {
  expect((await send(world.url, 'POST /api/compact/', { body: { id: 2, ...bodyOf('a', 1000) } })).status).toBe(400)
})
