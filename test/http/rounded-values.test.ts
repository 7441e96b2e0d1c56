import { Column, type ColumnOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Values of which the column stores fewer digits than the body has: upserts find them, and they do not leave the year 9999. */

/** A unique column of an entity that has no other one. */
interface Case {
  readonly name: string
  readonly options: ColumnOptions
  /** A value of which the column may not store all digits. */
  readonly value: unknown
  /** A value of another record. */
  readonly other: unknown
}

const instants = ['2024-01-01T00:00:00.400Z', '2024-01-01T00:00:02.400Z'] as const
const rounded = ['2024-01-01T00:00:00.700Z', '2024-01-01T00:00:02.700Z'] as const

const dateTimes = (types: readonly string[], precisions: readonly (number | undefined)[]): readonly Case[] =>
  types.flatMap((type) =>
    precisions.flatMap((precision) =>
      [instants, rounded].map(
        ([value, other], index): Case => ({
          name: `${type}${precision ?? ''}${index}`.replaceAll(' ', ''),
          options: { type, ...(precision !== undefined && { precision }) } as ColumnOptions,
          value,
          other,
        }),
      ),
    ),
  )

const ofClassDate: Case = { name: 'dateclass', options: { type: Date }, value: rounded[0], other: rounded[1] }
const ofDecimal: Case = {
  name: 'decimal',
  options: { type: 'decimal', precision: 10, scale: 2 },
  value: '0.300',
  other: '0.31',
}

const ofPostgres = (): readonly Case[] => [
  ...dateTimes(['timestamp', 'timestamptz', 'timestamp with time zone'], [undefined, 0, 1, 3, 6]),
  { name: 'dateclass0', options: { type: Date, precision: 0 }, value: rounded[0], other: rounded[1] },
  { name: 'timetz', options: { type: 'timetz', precision: 0 }, value: '10:20:30.7+02', other: '10:20:32.7+02' },
  { name: 'interval', options: { type: 'interval', precision: 0 }, value: '1.7 seconds', other: '3.7 seconds' },
  { name: 'real', options: { type: 'real' }, value: 0.123456789, other: 0.2 },
  { name: 'double', options: { type: 'double precision' }, value: 0.1, other: 0.2 },
  { name: 'char', options: { type: 'char', length: 5 }, value: 'ab', other: 'abc' },
]
const ofMariadb = (): readonly Case[] => [
  ...dateTimes(['datetime', 'timestamp'], [undefined, 0, 1, 3, 6]),
  { name: 'float', options: { type: 'float' }, value: 0.123456789, other: 0.2 },
  { name: 'double', options: { type: 'double' }, value: 0.1, other: 0.2 },
  { name: 'char', options: { type: 'char', length: 5 }, value: 'ab', other: 'abc' },
]
const ofSqlite = (): readonly Case[] => [
  ...dateTimes(['datetime'], [undefined, 0, 3]),
  { name: 'float', options: { type: 'float' }, value: 0.123456789, other: 0.2 },
]

const cases = [ofClassDate, ofDecimal, ...(isPostgres ? ofPostgres() : isMariadb ? ofMariadb() : ofSqlite())]

function buildEntity({ name, options }: Case): new () => object {
  const entity = { [name]: class {} }[name] as new () => object
  PrimaryGeneratedColumn()(entity.prototype, 'id')
  Column({ ...options, unique: true })(entity.prototype, 'value')
  Column({ type: 'integer' })(entity.prototype, 'n')
  Entity()(entity)
  Resource({ auth: permitAllAsUser1, bulk: true })(entity)
  return entity
}

/** The test gives its column more digits than the entity declares. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Finer {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: Date, unique: true }) value!: Date
}

let world: World
const { get, ids, post, put } = apiOf(() => world.url)

beforeAll(async () => {
  world = await openWorld({ entities: [...cases.map(buildEntity), Finer] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

test.each(cases)('an upsert finds the record that it has created: $name', async ({ name, value, other }) => {
  const upsert = (body: unknown) => send(world.url, `POST /api/${name}/?on_conflict=value`, { body })
  expect((await upsert({ value: other, n: 1 })).status).toBe(201)
  for (const [n, status] of [201, 200, 200].entries()) {
    const response = await upsert({ value, n })
    expect([response.status, response.json()]).toEqual([status, expect.objectContaining({ id: 2, n })])
  }
  const bodies = [
    { value, n: 7 },
    { value: other, n: 8 },
    { value, n: 9 },
  ]
  const many = await upsert(bodies)
  expect([many.status, many.json()]).toMatchObject([200, { objects: [{ id: 2 }, { id: 1 }, { id: 2 }] }])
  expect((await get(`${name}?ordering=id`)).json()).toMatchObject({ objects: [{ n: 8 }, { n: 9 }] })
  expect((await post(name, { value, n: 0 })).status).toBe(409)
})

if (isMariadb)
  test('a column that stores more digits than its entity declares', async () => {
    await world.dataSource.query('ALTER TABLE finer MODIFY value DATETIME(6) NOT NULL')
    const values = ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.400Z', '2024-01-01T00:00:00.700Z']
    for (const status of [201, 200]) {
      for (const [index, value] of values.entries()) {
        const response = await send(world.url, 'POST /api/finer/?on_conflict=value', { body: { value } })
        expect([response.status, response.json()]).toEqual([status, expect.objectContaining({ id: index + 1 })])
      }
    }
  })

/** The last instants of the year 9999, by the number of digits that a column stores. */
const lastInstants = [
  ['timestamp0', '23:59:59.499', '23:59:59.500'],
  ['timestamptz0', '23:59:59.499', '23:59:59.999'],
  ['timestamptz1', '23:59:59.949', '23:59:59.950'],
  ['timestamptz', '23:59:59.999', undefined],
] as const

if (isPostgres)
  test.each(lastInstants)('no value is rounded to the year 10000: %s', async (type, last, refused) => {
    const name = `${type}0`
    const posted = await post(name, { value: `9999-12-31T${last}Z`, n: 0 })
    expect([posted.status, posted.json()]).toEqual([201, expect.objectContaining({ value: '9999-12-31 23:59:59' })])
    const { id } = posted.json() as { id: number }
    expect(await ids(`${name}?value=9999-12-31T23:59:59`)).toEqual([id])
    expect(await ids(`${name}?value__lte=9999-12-31T23:59:59.999Z&id=${id}`)).toEqual([id])
    if (refused === undefined) return
    const body = { value: `9999-12-31T${refused}Z`, n: 0 }
    const errors = [{ field: 'value', message: expect.stringContaining(`up to 9999-12-31 ${last}`) }]
    for (const query of ['', '?on_conflict=value']) {
      const response = await send(world.url, `POST /api/${name}/${query}`, { body })
      expect([response.status, response.json()]).toMatchObject([400, { errors }])
    }
    const changed = await put(`${name}/${id}`, { value: body.value })
    expect([changed.status, changed.json()]).toMatchObject([400, { errors }])
  })
