import fc from 'fast-check'
import { EntitySchema } from 'typeorm'
import type { Json } from '../../src/value/value-type'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { bodies, generatedColumns } from './types/generated'
import { schemaColumn } from './types/row'

const Thing = new EntitySchema({
  name: 'thing',
  columns: {
    id: { type: Number, primary: true, generated: true },
    // SQLite stores a time in this column too. TypeORM cannot create such a column on MariaDB.
    ...(isMariadb ? {} : { made: { type: 'date', createDate: true } as const }),
    ...Object.fromEntries(generatedColumns.map(({ name, type, options }) => [name, schemaColumn(type, options)])),
  },
})

interface Shown {
  readonly id: number
  readonly [field: string]: Json
}

let world: World
let shown: readonly Shown[]
beforeAll(async () => {
  world = await openWorld({
    entities: [Thing],
    mount: { resources: [{ entity: Thing, auth: permitAllAsUser1 }], limit: { max: 1000 } },
  })
  for (const body of fc.sample(bodies, { numRuns: 100, seed: 11 })) {
    const reply = await post('thing', body)
    if (reply.status !== 201) throw new Error(`${JSON.stringify(body)}: ${reply.text}`)
  }
  shown = await list('')
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post } = apiOf(() => world.url)

async function list(query: string): Promise<readonly Shown[]> {
  const reply = await get(`thing/?${query}&ordering=id&limit=1000`)
  if (reply.status !== 200) throw new Error(`${query}: ${reply.text}`)
  return (reply.json() as { objects: Shown[] }).objects
}

const filter = (name: string, value: Json): string => `${name}=${encodeURIComponent(String(value))}`
const ids = (records: readonly Shown[]): readonly number[] => records.map(({ id }) => id)

test('Date-times: a record is found by all values that it shows, together and one by one', async () => {
  for (const record of shown) {
    const filters = Object.entries(record).map(([name, value]) =>
      value === null ? `${name}__is=null` : filter(name, value),
    )
    expect(await list(filters.join('&'))).toEqual([record])
  }
})

const unordered = ['truth', 'uuid', 'one']
const ordered = Object.keys(Thing.options.columns).filter((name) => !unordered.includes(name))

test.each(ordered)(
  '%s: lt and gte with a shown value find all records together and none twice, and so do lte and gt',
  async (name) => {
    const values = shown.flatMap((record) => record[name] ?? [])
    const all = ids(shown.filter((record) => record[name] !== null)).toSorted()
    const property = fc.asyncProperty(fc.constantFrom(...values), async (value) => {
      const idsBy = async (operator: string): Promise<readonly number[]> =>
        ids(await list(filter(`${name}__${operator}`, value)))
      const [below, from, until, above] = [await idsBy('lt'), await idsBy('gte'), await idsBy('lte'), await idsBy('gt')]
      expect([...below, ...from].toSorted()).toEqual(all)
      expect([...until, ...above].toSorted()).toEqual(all)
      const equal = await idsBy('eq')
      expect(equal).not.toEqual([])
      expect(until).toEqual(expect.arrayContaining([...below, ...equal]))
      expect(from).toEqual(expect.arrayContaining([...above, ...equal]))
      expect([...below, ...above].filter((id) => equal.includes(id))).toEqual([])
      expect([...equal, ...(await idsBy('ne'))].toSorted()).toEqual(all)
    })
    await fc.assert(property, { numRuns: 10, seed: 11 })
  },
)
