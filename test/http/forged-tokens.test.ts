import { hash } from 'node:crypto'
import { Column, type ColumnOptions, Entity, Generated, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { isMariadb, isPostgres, leg, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Column type, or `varchar` on databases without the type. */
const onLeg = (type: string, has: boolean): ColumnOptions =>
  ({ type: has ? type : 'varchar', nullable: true }) as ColumnOptions

/** Has a column of each type that a list can be sorted by. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Sorted {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') small!: number
  @Column('bigint') large!: string
  @Column({ type: 'decimal', precision: 20, scale: 2 }) exact!: string
  @Column({ type: isPostgres ? 'double precision' : 'double' }) real!: number
  @Column({ type: isPostgres ? 'real' : 'float' }) single!: number
  @Column({ type: 'boolean' }) flag!: boolean
  @Column({ type: 'varchar', length: 40 }) title!: string
  @Column('text') story!: string
  @Column({ type: 'date' }) day!: string
  @Column({ type: 'time' }) clock!: string
  @Column(types.instant) instant!: Date
  @Column({ type: 'simple-enum', enum: ['one', 'two'] }) choice!: string
  @Column({ type: isPostgres || leg.driver === 'mariadb' ? 'uuid' : 'varchar' })
  @Generated('uuid')
  uuid!: string
  @Column(onLeg('inet', isPostgres)) network!: string
  @Column(onLeg('interval', isPostgres)) span!: string
  @Column(onLeg('int4range', isPostgres)) range!: string
  @Column(onLeg('inet6', leg.driver === 'mariadb')) address!: string
  @Column(onLeg('year', isMariadb)) year!: number
  @Column(onLeg('bit', isMariadb)) bits!: string
  @Column({ type: 'int', nullable: true }) optional!: number | null
}

const record = {
  small: 1,
  large: 2,
  exact: '3.50',
  real: 4.5,
  single: 0.5,
  flag: true,
  title: 'a',
  story: 'b',
  day: '2024-02-29',
  clock: '10:20:30',
  instant: '2024-02-29T10:20:30.125Z',
  choice: 'one',
  network: isPostgres ? '10.0.0.1' : 'x',
  span: isPostgres ? '1 day' : 'x',
  range: isPostgres ? '[1,5)' : 'x',
  address: leg.driver === 'mariadb' ? '2001:db8::1' : 'x',
  year: isMariadb ? 2024 : 'x',
  bits: isMariadb ? '1' : 'x',
  optional: 5,
}
const fields = [...Object.keys(record), 'uuid']
/** Fields for which a number is a valid value. */
const numbers = [
  'small',
  'large',
  'exact',
  'real',
  'single',
  'flag',
  'optional',
  ...(isMariadb ? ['year', 'bits'] : []),
]
/** Fields for which every text is a valid value. */
const texts = fields.filter((name) => record[name as keyof typeof record] === 'x').concat('title', 'story')

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Sorted] })
  for (const title of ['a', 'b', 'c']) expect((await post('sorted', { ...record, title })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post } = apiOf(() => world.url)

/** Makes a cursor token, as a client can that knows its format, since there is no secret. */
function forge(field: string, content: unknown): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${hash('sha256', `sorted ${field} id\n${text}`, 'base64url').slice(0, 16)}${text}`
}

const statusOf = async (field: string, value: unknown, id: unknown = '1'): Promise<number> =>
  (await get(`sorted?ordering=${field}&after=${forge(field, ['after', value, id])}`)).status

const wrong = [
  true,
  false,
  'abc',
  '',
  '12abc',
  '\u0000',
  '\ud800',
  '2024-02-30x',
  ':-',
  '(',
  [],
  {},
  `${'9'.repeat(400)}x`,
]

test.each(fields)('the tokens of a list sorted by %s lead through all records', async (field) => {
  for (const ordering of [field, `-${field}`]) {
    const pages = await readPages(world.url, `/api/sorted?ordering=${ordering}&limit=1&after=`)
    for (const { meta } of pages.slice(0, -1)) expect(meta.next).toContain('&after=')
    expect(idsOf(pages).toSorted()).toEqual([1, 2, 3])
  }
})

test.each(fields)('a forged token with a value of the wrong type for %s is refused', async (field) => {
  const values = texts.includes(field) ? wrong.filter((value) => typeof value !== 'string') : wrong
  for (const value of values) expect([value, await statusOf(field, value)]).toEqual([value, 400])
  const isEnumOfNumbers = isMariadb && field === 'choice'
  if (!numbers.includes(field) && !isEnumOfNumbers) expect(await statusOf(field, 5)).toBe(400)
})

test.each(fields)('a forged token never causes a fault: %s', async (field) => {
  const values = [
    null,
    0,
    -1,
    1.5,
    1e300,
    -1e-300,
    '5',
    '-5',
    '1.5',
    '1e400',
    '9'.repeat(400),
    '2024-02-29',
    'one',
    "' OR 1=1 --",
  ]
  for (const value of values) expect([200, 400]).toContain(await statusOf(field, value))
  for (const id of ['x', null, true, '1.5', '9'.repeat(30)])
    expect([200, 400]).toContain(await statusOf(field, isPostgres ? '1' : 1, id))
})

test('null is only valid for nullable columns', async () => {
  expect(await statusOf('optional', null)).toBe(200)
  expect(await statusOf('small', null)).toBe(400)
})
