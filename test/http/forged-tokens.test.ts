import { hash } from 'node:crypto'
import { Column, type ColumnOptions, Entity, Generated, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { isMariadb, isPostgres, leg, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

const everybody = (): { id: number } => ({ id: 1 })

/** A type where the leg has it, else text. */
const onLeg = (type: string, has: boolean): ColumnOptions =>
  ({ type: has ? type : 'varchar', nullable: true }) as ColumnOptions

/** Columns of every sort that a list can be ordered by. */
@Entity()
@Resource({ auth: everybody })
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
/** Those that a number can be a value of. */
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
/** Those of which every text is a value. */
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

/** As one who knows how tokens are made, where there is no secret. */
function forge(field: string, content: unknown): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${hash('sha256', `sorted ${field} id\n${text}`, 'base64url').slice(0, 16)}${text}`
}

const ask = async (field: string, value: unknown, id: unknown = '1'): Promise<number> =>
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

test.each(fields)('tokens of %s that the list gives out lead through all records', async (field) => {
  for (const ordering of [field, `-${field}`]) {
    const seen: unknown[] = []
    for (let path = `sorted?ordering=${ordering}&limit=1&after=`; path !== ''; ) {
      const { meta, objects } = (await get(path)).json() as { meta: { next: string }; objects: { id: number }[] }
      seen.push(...objects.map(({ id }) => id))
      if (meta.next !== '') expect(meta.next).toContain('&after=')
      path = meta.next.replace('/api/', '')
    }
    expect(seen.toSorted()).toEqual([1, 2, 3])
  }
})

test.each(fields)('a forged token with a value of the wrong type for %s is refused', async (field) => {
  const values = texts.includes(field) ? wrong.filter((value) => typeof value !== 'string') : wrong
  for (const value of values) expect([value, await ask(field, value)]).toEqual([value, 400])
  const isEnumOfNumbers = isMariadb && field === 'choice'
  if (!numbers.includes(field) && !isEnumOfNumbers) expect(await ask(field, 5)).toBe(400)
})

test.each(fields)('a forged token never is a fault: %s', async (field) => {
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
  for (const value of values) expect([200, 400]).toContain(await ask(field, value))
  for (const id of ['x', null, true, '1.5', '9'.repeat(30)])
    expect([200, 400]).toContain(await ask(field, isPostgres ? '1' : 1, id))
})

test('a null is a value of columns that may be null only', async () => {
  expect(await ask('optional', null)).toBe(200)
  expect(await ask('small', null)).toBe(400)
})
