import { type DataSource, EntitySchema } from 'typeorm'
import { type Json, operatorNames } from '../../src/value/kind'
import { apiOf } from '../client'
import { isMariadb, isPostgres, leg } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { mariadbTypes } from './types/mariadb'
import { postgresTypes } from './types/postgres'
import { columnsOf, operatorsOf, schemaColumn, type TypedColumn } from './types/row'
import { sqliteTypes } from './types/sqlite'

const table = isPostgres ? postgresTypes : isMariadb ? mariadbTypes : sqliteTypes
const columns = columnsOf(table).filter(({ row }) => row.since === undefined || leg.name.startsWith(row.since))

const Typed = new EntitySchema({
  name: 'typed',
  columns: {
    id: { type: Number, primary: true, generated: true },
    ...Object.fromEntries(columns.map(({ name, type, row }) => [name, schemaColumn(type, row.options)])),
  },
})

interface Shown {
  readonly id: number
  readonly [field: string]: Json
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Typed],
    seed: alter,
    mount: { resources: [{ entity: Typed, auth: () => ({ id: 1 }) }], limit: { max: 10_000 } },
  })
}, 60_000)
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

async function alter(dataSource: DataSource): Promise<void> {
  for (const { name, row } of columns) {
    if (row.altered) await dataSource.query(`ALTER TABLE typed MODIFY ${name} ${row.altered}`)
  }
}

const { get, post, put } = apiOf(() => world.url)

async function make(body: Json): Promise<Shown> {
  const reply = await post('typed', body)
  if (reply.status !== 201) throw new Error(`${JSON.stringify(body)}: ${reply.text}`)
  return reply.json() as Shown
}

/** The keys of the records that a filter finds. */
async function find(field: string, operator: string, text: string): Promise<readonly number[]> {
  const reply = await get(`typed/?${field}__${operator}=${encodeURIComponent(text)}&limit=10000`)
  if (reply.status !== 200) throw new Error(`${field}__${operator}=${text}: ${reply.text}`)
  return (reply.json() as { objects: Shown[] }).objects.map(({ id }) => id)
}

const asText = (shown: Json): string => String(shown)
const asMember = (shown: Json): string => `"${String(shown).replaceAll('"', '""')}"`

/** D11: what is shown is what can be asked for. */
async function expectFound({ name, row }: TypedColumn, id: number, shown: Json): Promise<void> {
  const operators = operatorsOf[row.filters]
  const all = await find(name, 'is', 'not_null')
  expect(all).toContain(id)
  if (operators.includes('eq')) {
    expect(await find(name, 'eq', asText(shown))).toContain(id)
    expect(await find(name, 'in', asMember(shown))).toContain(id)
    expect(await find(name, 'ne', asText(shown))).not.toContain(id)
  }
  if (!operators.includes('lt')) return
  const [below, above] = [await find(name, 'lt', asText(shown)), await find(name, 'gte', asText(shown))]
  expect(above).toContain(id)
  expect([...below, ...above].toSorted()).toEqual(all.toSorted())
}

describe.each(columns.map((column) => [column.label, column] as const))('%s', (_, column) => {
  const { name, row } = column
  const pairs = [...row.same.map((value) => [value, value] as const), ...(row.shownAs ?? [])]

  test('every value is shown, can be sent back, changed and asked for', async () => {
    const records: Shown[] = []
    for (const [sent, shown] of pairs) {
      const record = await make({ [name]: sent })
      expect({ sent, shown: record[name] }).toEqual({ sent, shown })
      records.push(record)
    }
    const [other] = row.same
    for (const record of records) {
      const path = `typed/${record.id}`
      expect((await get(`${path}/`)).json()).toEqual(record)
      await expectFound(column, record.id, record[name] ?? null)
      expect((await put(path, record)).json()).toEqual(record)
      expect((await put(path, { [name]: other ?? null })).json()).toEqual({ ...record, [name]: other })
      expect((await put(path, record)).json()).toEqual(record)
    }
    const [first] = records
    expect((await put(`typed/${first?.id}`, { [name]: null })).json()).toEqual({ ...first, [name]: null })
  })

  test('other values are refused', async () => {
    for (const value of row.refused) {
      const { status, text } = await post('typed', { [name]: value })
      expect({ value, status, text }).toEqual({
        value,
        status: 400,
        text: expect.stringMatching(/\bmust\b|does not accept/),
      })
    }
  })

  test('filters', async () => {
    const { id } = await make({ [name]: row.same[0] ?? null })
    for (const [operator, text] of row.finds ?? []) {
      expect({ operator, text, found: await find(name, operator, text) }).toMatchObject({
        found: expect.arrayContaining([id]),
      })
    }
    for (const [operator, text] of row.misses ?? []) {
      expect({ operator, text, found: await find(name, operator, text) }).not.toMatchObject({
        found: expect.arrayContaining([id]),
      })
    }
    for (const text of row.unreadable ?? []) {
      const { status } = await get(`typed/?${name}=${encodeURIComponent(text).replace('%2500', '%00')}`)
      expect({ text, status }).toEqual({ text, status: 400 })
    }
    for (const operator of operatorNames.filter((one) => !operatorsOf[row.filters].includes(one))) {
      const reply = await get(`typed/?${name}__${operator}=x`)
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(operator)])
    }
    const nulls = await get(`typed/?id=${id}&${name}__is=null`)
    expect(nulls.json()).toMatchObject({ objects: [] })
  })
})

const storedBySql = columns.filter(({ row }) => row.stored !== undefined || row.strange !== undefined)
test.each(storedBySql.map((column) => [column.label, column] as const))(
  '%s: what SQL has stored',
  async (_, column) => {
    const { name, row } = column
    const { stored = [], strange = [] } = row
    for (const [expression, shown] of [...stored, ...strange]) {
      await world.sql(`INSERT INTO "typed" ("${name}") VALUES (${expression})`)
      const [last] = ((await get('typed/?ordering=-id&limit=1')).json() as { objects: Shown[] }).objects
      expect({ expression, shown: last?.[name] }).toEqual({ expression, shown })
      expect((await put(`typed/${last?.id}`, last)).json()).toEqual(last)
      if (stored.some(([one]) => one === expression)) await expectFound(column, last?.id ?? 0, shown)
    }
    for (const [expression] of strange) await world.sql(`DELETE FROM "typed" WHERE "${name}" = ${expression}`)
  },
)

test('every type of the driver has a row, is binary or is refused', () => {
  const known = [...columns.map(({ type }) => type), ...table.binary.map(([type]) => type), ...table.without]
  expect(world.dataSource.driver.supportedDataTypes.filter((type) => !known.includes(String(type)))).toEqual([])
})
