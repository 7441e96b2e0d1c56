import { AfterLoad, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * pg parses JSON and arrays of all rows as they arrive, which takes many times the memory of their texts. Therefore values are read as
 * texts, and parsed by the same parsers only when a record is rendered: values of rows that are not shown are never parsed.
 */

const reversed = { to: (value: unknown) => value, from: (value: unknown[]) => value.toReversed() }

abstract class Values {
  @PrimaryGeneratedColumn() id!: number
  @Column('json') json!: unknown
  @Column('jsonb') jsonb!: unknown
  @Column('jsonb', { nullable: true, transformer: reversed }) turned!: unknown
  @Column('text', { array: true }) texts!: string[]
  @Column('varchar', { array: true }) names!: string[]
  @Column('int', { array: true }) numbers!: number[]
  @Column('bigint', { array: true }) wide!: string[]
  @Column('float8', { array: true }) floats!: number[]
  @Column('bool', { array: true }) flags!: boolean[]
  @Column('uuid', { array: true }) ids!: string[]
  @Column('date', { array: true }) days!: string[]
  @Column('timestamptz', { array: true }) times!: Date[]
}

@Entity()
@Resource({ auth: permitAll })
class Plain extends Values {}

@Entity()
@Resource({ auth: permitAll })
class Loaded extends Values {
  @AfterLoad() load(): void {}
}

const columns = [
  'json',
  'jsonb',
  'turned',
  'texts',
  'names',
  'numbers',
  'wide',
  'floats',
  'flags',
  'ids',
  'days',
  'times',
]
/** OIDs of the types. */
const parsedTypes = [114, 3802, 1009, 1015, 1007, 1022, 1000, 2951, 1185]

const record = {
  json: { a: [null, 'ü"\\', 1.5] },
  jsonb: 'a text',
  turned: [1, 2, 3],
  texts: ['a,b', '"', '{}', 'NULL', ''],
  names: [],
  numbers: [1, -2],
  wide: [1, '9007199254740993'],
  floats: [1.5, 0.1],
  flags: [true, false],
  ids: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  days: ['2024-02-29'],
  times: ['2024-02-29 10:20:30'],
}
const shown = { ...record, turned: [3, 2, 1] }

let world: World
let parsed: number[] = []
const restore: (() => void)[] = []
beforeAll(async () => {
  world = await openWorld({ entities: [Plain, Loaded] })
  const { types } = Object(world.dataSource.driver).postgres
  for (const id of parsedTypes) {
    const parse = types.getTypeParser(id)
    restore.push(() => types.setTypeParser(id, parse))
    types.setTypeParser(id, (text: string) => {
      parsed.push(id)
      return parse(text)
    })
  }
})
afterAll(() => {
  for (const one of restore) one()
  return world.close()
})

test.each(['plain', 'loaded'])(
  'values of %s are shown as they were sent, and parsed once for each record',
  async (name) => {
    const { url } = world
    for (let index = 0; index < 3; index++) {
      const created = await send(url, `POST /api/${name}/`, { body: record })
      expect([created.status, created.json()]).toEqual([201, expect.objectContaining(shown)])
    }
    parsed = []
    const list = await send(url, `GET /api/${name}/?limit=1`)
    expect(list.json()).toMatchObject({ objects: [shown] })
    const counts = parsedTypes.map((id) => parsed.filter((one) => one === id).length)
    // There are two columns for jsonb, and three for arrays that are read as text.
    expect(counts).toEqual([1, 2, 3, 1, 1, 1, 1, 1, 1])
    const item = await send(url, `GET /api/${name}/1/`)
    expect(item.json()).toMatchObject(shown)
    const changed = await send(url, `PUT /api/${name}/1/`, { body: { texts: ['z'], jsonb: null } })
    expect(changed.status).toBe(400)
    const updated = await send(url, `PUT /api/${name}/1/`, { body: { texts: ['z'], json: [] } })
    expect(updated.json()).toMatchObject({ ...shown, texts: ['z'], json: [] })
    expect(Object.keys(updated.json() as object).toSorted()).toEqual(['id', ...columns].toSorted())
  },
)
