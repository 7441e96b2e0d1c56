import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Groups of values at the limits of their types. */

@Entity()
@Resource({ auth: permitAll, aggregate: true })
class Sample {
  @PrimaryGeneratedColumn() id!: number
  /** The rows of one test. */
  @Column({ length: 20 }) topic!: string
  @Column({ type: isMariadb ? 'double' : 'double precision', nullable: true }) ratio!: number | null
  @Column({ type: 'bigint', nullable: true }) size!: string | null
  @Column({ type: 'decimal', precision: 15, scale: 4, nullable: true }) cost!: string | null
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ type: 'varchar', length: 1000, nullable: true }) text!: string | null
  @Column({ type: 'simple-enum', enum: ['new', 'done'], nullable: true }) status!: string | null
  @Column({ type: 'simple-enum', enum: [10, 9], nullable: true }) level!: string | null
}

const rows = [
  ...[1e308, 1e308].map((ratio) => ({ topic: 'ratios', ratio })),
  ...['9007199254740992', '1'].map((size) => ({ topic: 'sizes', size })),
  ...['0.1000', '0.2000', '0.0001'].map((cost) => ({ topic: 'costs', cost })),
  ...['0999-05-05', '1000-01-01', '9999-12-31'].map((day) => ({ topic: 'days', day })),
  ...['b', 'B', 'a ', 'a', 'É', 'e', 'é', '', '\u{1F600}', '\uFF5E'].map((text) => ({ topic: 'texts', text })),
  // Texts that are equal in more bytes than MariaDB compares when it sorts.
  ...Array.from({ length: 40 }, (_, index) => ({ topic: 'prefixes', text: `${'é'.repeat(700)}${(index * 7) % 5}` })),
  ...['new', 'done', null, 'new'].map((status) => ({ topic: 'states', status, level: status === null ? null : '9' })),
]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Sample],
    seed: async (dataSource) => {
      for (const row of rows) await insertRows(dataSource, Sample, [row])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

async function groupsOf(query: string): Promise<readonly object[]> {
  const reply = await get(`sample/?${query}`)
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as { objects: readonly object[] }).objects
}

test.each(['sum', 'avg'])('the %s of floats whose sum exceeds a double is 400', async (name) => {
  const reply = await get(`sample/?aggregate=ratio__${name}&topic=ratios`)
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('outside the range')])
})

// The operands have more digits than a double.
test.each<readonly [filter: string, isFound: boolean]>([
  ['cost__sum=0.3001', true],
  ['cost__sum=0.30010000000000000001', false],
  ['cost__sum__ne=0.30010000000000000001', true],
  ['cost__sum__gt=0.30009999999999999999', true],
  ['cost__sum__gte=0.30010000000000000001', false],
  ['cost__sum__lt=0.30010000000000000001', true],
  ['cost__sum__lte=0.30009999999999999999', false],
  ['cost__sum__lte=0.300100', true],
  ['cost__sum=0.300100', true],
  ['cost__sum__ne=0.300100', false],
  ['cost__sum__gt=-0.30010000000000000001', true],
])('a sum of decimals is compared exactly: %s', async (filter, isFound) => {
  expect(await groupsOf(`aggregate=cost__sum&topic=costs&${filter}`)).toHaveLength(isFound ? 1 : 0)
})

test.each<readonly [filter: string, isFound: boolean]>([
  ['size__sum=9007199254740993', true],
  ['size__sum=9007199254740992.9999', false],
  ['size__sum__gt=9007199254740992.9999', true],
  ['size__sum__gte=9007199254740993.0001', false],
  ['size__sum__lt=9007199254740993.0001', true],
  ['size__sum__lte=9007199254740992.9999', false],
  ['size__sum__gt=-9007199254740993.5', true],
  ['size__sum__lt=99999999999999999999', true],
  ['count__ne=1.5', true],
  ['count__eq=2.000', true],
  ['count__lt=2.5', true],
])('a sum of integers is compared exactly: %s', async (filter, isFound) => {
  expect(await groupsOf(`aggregate=size__sum,count&topic=sizes&${filter}`)).toHaveLength(isFound ? 1 : 0)
})

test.each([
  ['year', ['0999-01-01', '1000-01-01', '9999-01-01']],
  ['quarter', ['0999-04-01', '1000-01-01', '9999-10-01']],
  ['month', ['0999-05-01', '1000-01-01', '9999-12-01']],
  ['week', ['0999-04-29', '0999-12-30', '9999-12-27']],
  ['day', ['0999-05-05', '1000-01-01', '9999-12-31']],
])('the %s of early and late dates', async (part, expected) => {
  const groups = await groupsOf(`aggregate=count&by=day__${part}&topic=days`)
  expect(groups).toEqual(expected.map((day) => ({ [`day__${part}`]: day, count: 1 })))
})

test('texts are grouped exactly, in the order of their code points', async () => {
  const groups = await groupsOf('aggregate=count&by=text&topic=texts')
  const expected = ['', 'B', 'a', 'a ', 'b', 'e', 'É', 'é', '\uFF5E', '\u{1F600}']
  expect(groups).toEqual(expected.map((text) => ({ text, count: 1 })))
})

test('texts with a long common prefix are grouped exactly, also on pages', async () => {
  const pages = await Promise.all(
    [1, 2, 3].map((page) => groupsOf(`aggregate=count&by=text&topic=prefixes&limit=2&page=${page}`)),
  )
  const ends = pages
    .flat()
    .map((group) => [(group as { text: string }).text.slice(-1), (group as { count: number }).count])
  expect(ends).toEqual(['0', '1', '2', '3', '4'].map((end) => [end, 8]))
})

test('groups by an enumeration', async () => {
  const groups = await groupsOf('aggregate=count,status__count_distinct&by=level,status&topic=states')
  const byState = [
    { level: null, status: null, count: 1, status__count_distinct: 0 },
    { level: 9, status: 'new', count: 2, status__count_distinct: 1 },
    { level: 9, status: 'done', count: 1, status__count_distinct: 1 },
  ]
  // In the order of the members, where the database has a type for enumerations.
  expect(groups).toEqual(isSqlite ? [byState[0], byState[2], byState[1]] : byState)
})

test('the number of different dates', async () => {
  expect(await groupsOf('aggregate=day__count_distinct&topic=days')).toEqual([{ day__count_distinct: 3 }])
})

test('a filter on groups without an operator after the underscores is 400', async () => {
  const reply = await get('sample/?aggregate=count&count__=1')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('count__ has the unknown operator')])
})

if (isPostgres) {
  test('dates before Christ and infinite ones have a period of their own', async () => {
    await world.sql(
      `INSERT INTO "sample" ("topic", "day") VALUES ('far', '0044-03-15 BC'), ('far', 'infinity'), ('far', NULL)`,
    )
    const groups = await groupsOf('aggregate=count&by=day__week&topic=far')
    expect(groups).toEqual([null, '0044-03-11 BC', 'infinity'].map((day__week) => ({ day__week, count: 1 })))
  })
}
