import { type DataSource, EntitySchema } from 'typeorm'
import { type Json, operatorNames } from '../../src/value/value-type'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { idsOf, type Page, readPages } from '../support/pages'
import { openWorld, type World } from '../world/world'
import { legColumns, legTable } from './types/leg-table'
import { operatorsOf, schemaColumn, type TypedColumn } from './types/row'

const resources = [...new Set(legColumns.map(({ resource }) => resource))]
const entities = resources.map((name) => {
  const own = legColumns.filter(({ resource }) => resource === name)
  const columns = own.map((column) => [column.name, schemaColumn(column.type, column.row.options)])
  return new EntitySchema({
    name,
    columns: { id: { type: Number, primary: true, generated: true }, ...Object.fromEntries(columns) },
    indices: own.filter(({ row }) => row.indexed).map((column) => ({ columns: [column.name] })),
  })
})

interface Shown {
  readonly id: number
  readonly [field: string]: Json
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities,
    seed: alter,
    mount: { resources: entities.map((entity) => ({ entity, auth: permitAllAsUser1 })), limit: { max: 1000 } },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

async function alter(dataSource: DataSource): Promise<void> {
  for (const { resource, name, row } of legColumns) {
    if (row.altered) await dataSource.query(`ALTER TABLE ${resource} MODIFY ${name} ${row.altered}`)
  }
}

const { get, post, put } = apiOf(() => world.url)

async function make({ resource, name }: TypedColumn, value: Json): Promise<Shown> {
  const reply = await post(resource, { [name]: value })
  if (reply.status !== 201) throw new Error(`${JSON.stringify(value)}: ${reply.text}`)
  return reply.json() as Shown
}

/** The keys of the records that a filter finds. */
async function find({ resource, name }: TypedColumn, operator: string, text: string): Promise<readonly number[]> {
  const filter = operator === 'eq' ? name : `${name}__${operator}`
  const reply = await get(`${resource}/?${filter}=${encodeURIComponent(text)}&fields=id&limit=1000`)
  if (reply.status !== 200) throw new Error(`${filter}=${text}: ${reply.text}`)
  return (reply.json() as { objects: Shown[] }).objects.map(({ id }) => id)
}

const asMember = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A record is found by the value that it shows (specification: Date-times). */
async function expectFound(column: TypedColumn, id: number, shown: Json): Promise<void> {
  const text = String(shown)
  const operators = operatorsOf[column.row.filters]
  const all = await find(column, 'is', 'not_null')
  expect(all).toContain(id)
  if (operators.includes('eq')) {
    expect(await find(column, 'eq', text)).toContain(id)
    expect(await find(column, 'in', asMember(text))).toContain(id)
    expect(await find(column, 'ne', text)).not.toContain(id)
  }
  if (!operators.includes('lt')) return
  const [below, above] = [await find(column, 'lt', text), await find(column, 'gte', text)]
  expect(above).toContain(id)
  expect([...below, ...above].toSorted()).toEqual(all.toSorted())
}

describe.each(legColumns.map((column) => [column.label, column] as const))('%s', (_, column) => {
  const { resource, name, row } = column
  const pairs = [...row.same.map((value) => [value, value] as const), ...(row.shownAs ?? [])]
  const [first = null] = row.same

  test('every value is shown, can be sent back and changed, and finds its record', async () => {
    const records: Shown[] = []
    for (const [sent, shown] of pairs) {
      const record = await make(column, sent)
      expect({ sent, shown: record[name] }).toEqual({ sent, shown })
      records.push(record)
    }
    for (const record of records) {
      const path = `${resource}/${record.id}`
      expect((await get(`${path}/`)).json()).toEqual(record)
      await expectFound(column, record.id, record[name] ?? null)
      expect((await put(path, record)).json()).toEqual(record)
      expect((await put(path, { [name]: first })).json()).toEqual({ ...record, [name]: first })
      expect((await put(path, record)).json()).toEqual(record)
    }
    const path = `${resource}/${records[0]?.id}`
    expect((await put(path, { [name]: null })).json()).toEqual({ ...records[0], [name]: null })
  })

  test('invalid values are refused', async () => {
    for (const value of row.refused) {
      const { status, text } = await post(resource, { [name]: value })
      const sentence = expect.stringMatching(/\bmust\b|does not accept/)
      expect({ value, status, text }).toEqual({ value, status: 400, text: sentence })
    }
  })

  test('filters find a value, find nothing, or are refused', async () => {
    const { id } = await make(column, first)
    for (const [operator, text] of row.finds ?? []) {
      const isFound = (await find(column, operator, text)).includes(id)
      expect({ operator, text, isFound }).toEqual({ operator, text, isFound: true })
    }
    for (const [operator, text] of row.misses ?? []) {
      const isFound = (await find(column, operator, text)).includes(id)
      expect({ operator, text, isFound }).toEqual({ operator, text, isFound: false })
    }
    expect(await find(column, 'is', 'null')).not.toContain(id)
    for (const text of row.unreadable ?? []) {
      const { status } = await get(`${resource}/?${name}=${encodeURIComponent(text)}`)
      expect({ text, status }).toEqual({ text, status: 400 })
    }
    for (const operator of operatorNames.filter((one) => !operatorsOf[row.filters].includes(one))) {
      const reply = await get(`${resource}/?${name}__${operator}=x`)
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(operator)])
    }
  })
})

const storedBySql = legColumns.filter(({ row }) => row.stored !== undefined || row.strange !== undefined)

test.each(storedBySql.map((column) => [column.label, column] as const))(
  '%s shows values that only SQL can store',
  async (_, column) => {
    const { resource, name, row } = column
    for (const [expression, shown] of [...(row.stored ?? []), ...(row.strange ?? [])]) {
      await world.sql(`INSERT INTO "${resource}" ("${name}") VALUES (${expression})`)
      const [last] = ((await get(`${resource}/?ordering=-id&limit=1`)).json() as { objects: Shown[] }).objects
      expect({ expression, shown: last?.[name] }).toEqual({ expression, shown })
      expect((await put(`${resource}/${last?.id}`, last)).json()).toEqual(last)
      if (row.stored?.some(([one]) => one === expression)) await expectFound(column, last?.id ?? 0, shown)
    }
  },
)

const sortable = legColumns.filter(({ row }) => operatorsOf[row.filters].includes('eq'))

test.each(sortable.flatMap((column) => ['', '-'].map((sign) => [`${sign}${column.label}`, sign, column] as const)))(
  'by keyset a list sorted by %s has every record once, forwards and backwards',
  async (_, sign, { resource, name }) => {
    const path = `/api/${resource}/?ordering=${sign}${name}&limit=`
    const idsFrom = async (start: string, link: 'next' | 'previous'): Promise<readonly number[]> => {
      const pages = await readPages(world.url, start, link)
      return pages.flatMap((page) => (link === 'next' ? idsOf([page]) : idsOf([page]).toReversed()))
    }
    const whole = await idsFrom(`${path}1000`, 'next')
    expect(await idsFrom(`${path}2&after=`, 'next')).toEqual(whole)
    // The page after the last one: it is empty and links back.
    const { meta } = (await get(`${resource}/?ordering=${sign}${name}&limit=1000&page=2&after=`)).json() as Page
    expect(await idsFrom(meta.previous.replace('limit=1000', 'limit=3'), 'previous')).toEqual(whole.toReversed())
  },
)

test('every column type of the driver is in the table, hidden or refused', () => {
  const { binary, without } = legTable
  const known = [...legColumns.map(({ type }) => type), ...binary.map(([type]) => type), ...without]
  expect(world.dataSource.driver.supportedDataTypes.filter((type) => !known.includes(String(type)))).toEqual([])
})
