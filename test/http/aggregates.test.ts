import fc from 'fast-check'
import {
  AfterLoad,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Lists with the parameter `aggregate`, which return groups of records. Expected results are computed here. */

@Entity()
@Resource({ auth: permitAll, scope: () => ({ open: true }), exclude: ['secret'] })
class Venture {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ length: 20 }) secret!: string
  @Column() open!: boolean
}

@Entity()
@Resource({ auth: permitAll })
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

@Entity()
@Resource({ auth: permitAll, aggregate: true, exclude: ['hidden'], scope: () => ({ visible: true }) })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() minutes!: number
  @Column({ type: 'decimal', precision: 12, scale: 3, nullable: true }) cost!: string | null
  @Column({ type: 'bigint' }) size!: string
  @Column({ type: 'double precision' }) ratio!: number
  @Column({ type: String, length: 20, nullable: true }) kind!: string | null
  @Column({ type: 'date' }) day!: string
  @Column() at!: Date
  @Column() hidden!: number
  @Column() visible!: boolean
  @ManyToOne(() => Venture, { nullable: true }) venture!: Relation<Venture> | null
  @ManyToMany(() => Label)
  @JoinTable()
  labels!: Relation<Label>[]
}

/** Restricts the parameters to some properties. */
@Entity()
@Resource({ auth: permitAll, aggregate: ['score'] })
class Result {
  @PrimaryGeneratedColumn() id!: number
  @Column() score!: number
  @Column() other!: number
}

/** Has a field with the name of a function. */
@Entity()
@Resource({ auth: permitAll, aggregate: true })
class Tally {
  @PrimaryGeneratedColumn() id!: number
  @Column() count!: number
}

/** Has a field that nobody may read. */
@Entity()
@Resource({ auth: permitAll, aggregate: true, fields: { amount: { read: () => false } } })
class Wage {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column() amount!: number
}

/** Has a listener that may hide its label. */
@Entity()
@Resource({ auth: permitAll })
class Guard {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Label, { nullable: true }) label!: Relation<Label> | null
  @AfterLoad() hideLabel(): void {
    this.label = null
  }
}

@Entity()
@Resource({ auth: permitAll, aggregate: true })
class Badge {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Guard, { nullable: true }) guard!: Relation<Guard> | null
}

type GroupValue = string | number | boolean | null

interface Row {
  readonly minutes: number
  /** In thousandths. */
  readonly cost: number | null
  readonly size: bigint
  readonly ratio: number
  readonly kind: string | null
  readonly day: string
  readonly at: Date
  readonly visible: boolean
  readonly venture: number | null
  readonly labels: readonly number[]
}

/** Linear congruential generator, so that the rows are the same in each run. */
let state = 7
const random = (limit: number): number => {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return Math.floor((state / 2 ** 31) * limit)
}
const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
const days = ['2020-12-31', '2021-01-01', '2021-01-03', '2021-01-04', '2024-02-29', '2024-12-30', '2025-01-01'] as const

const rows: readonly Row[] = Array.from({ length: 60 }, (_, index) => {
  const day = pick(days)
  return {
    minutes: random(200) - 50,
    cost: random(5) === 0 ? null : random(1_000_000) - 200_000,
    size: 9_007_199_254_740_993n + BigInt(random(1000)),
    ratio: random(16) / 8,
    kind: pick(['a', 'A', 'b', null]),
    day,
    at: new Date(`${day}T${pick(['00:00:00', '12:30:15', '23:59:59'])}Z`),
    visible: index % 10 !== 0,
    venture: pick([1, 2, 3, null]),
    labels: index % 2 === 0 ? [1, 2] : [],
  }
})
const ventures = ['north', 'south', 'closed']
const visible = rows.filter((row) => row.visible)
const decimal = (thousandths: number | null): string | null =>
  thousandths === null ? null : `${(thousandths / 1000).toFixed(3)}`

function openTwin(side: 0 | 1): Promise<World> {
  return openWorld({
    entities: [Venture, Label, Entry, Result, Wage, Guard, Badge],
    mount: { limits: { aggregates: 6, groupFields: 3 } },
    seed: async (dataSource) => {
      const secret = `s${side}`
      await dataSource.getRepository(Venture).save(
        ventures.map((name, index) => ({
          name: index < 2 ? name : `${name}${side}`,
          secret: `${secret}${index}`,
          open: index < 2,
        })),
      )
      await dataSource.getRepository(Label).save([{ text: 'x' }, { text: 'y' }])
      for (const row of rows) {
        const { cost, size, venture, labels, ...values } = row
        const changed = row.visible ? {} : { minutes: 1000 * (side + 1), kind: `hidden${side}` }
        await dataSource.getRepository<object>(Entry).save({
          ...values,
          ...changed,
          cost: decimal(cost),
          size: String(size),
          hidden: side,
          venture: venture && { id: venture },
          labels: labels.map((id) => ({ id })),
        })
      }
      await dataSource.getRepository(Result).save([{ score: 1, other: 2 }])
    },
  })
}

let worlds: readonly World[]
beforeAll(async () => {
  worlds = [await openTwin(0), await openTwin(1)]
})
afterAll(async () => {
  for (const world of worlds) await world.close()
})
const { get } = apiOf(() => worlds[0]?.url ?? '')

interface Envelope {
  readonly meta: { readonly next: string; readonly previous: string; readonly page: number }
  readonly objects: readonly object[]
}
/** Requests a list of both databases, whose responses must be equal. */
async function listOf(query: string): Promise<Envelope> {
  const [one, other] = await Promise.all(worlds.map(({ url }) => send(url, `GET /api/entry/?${query}`)))
  expect(other?.text).toBe(one?.text)
  if (one?.status !== 200) throw new Error(one?.text)
  return one.json() as Envelope
}

const sum = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0)
const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : (sum(values) ?? 0) / values.length
const costs = (of: readonly Row[]): readonly number[] => of.flatMap(({ cost }) => (cost === null ? [] : [cost]))
const least = <T>(values: readonly T[]): T => values.reduce((one, other) => (other < one ? other : one))
const greatest = <T>(values: readonly T[]): T => values.reduce((one, other) => (other > one ? other : one))
const shown = (at: Date): string => at.toISOString().slice(0, 19).replace('T', ' ')

/** Each aggregate, and how it is computed of at least one row. */
const aggregates: readonly (readonly [string, (of: readonly Row[]) => unknown])[] = [
  ['count', (of) => of.length],
  ['minutes__sum', (of) => sum(of.map(({ minutes }) => minutes))],
  ['minutes__avg', (of) => average(of.map(({ minutes }) => minutes))],
  ['minutes__min', (of) => Math.min(...of.map(({ minutes }) => minutes))],
  ['minutes__max', (of) => Math.max(...of.map(({ minutes }) => minutes))],
  ['minutes__count_distinct', (of) => new Set(of.map(({ minutes }) => minutes)).size],
  ['cost__sum', (of) => decimal(sum(costs(of)))],
  ['cost__avg', (of) => (costs(of).length === 0 ? null : (sum(costs(of)) ?? 0) / 1000 / costs(of).length)],
  ['cost__min', (of) => (costs(of).length === 0 ? null : decimal(least(costs(of))))],
  ['size__sum', (of) => String(of.reduce((total, { size }) => total + size, 0n))],
  ['size__max', (of) => String(greatest(of.map(({ size }) => size)))],
  ['ratio__sum', (of) => sum(of.map(({ ratio }) => ratio))],
  ['kind__count_distinct', (of) => new Set(of.flatMap(({ kind }) => kind ?? [])).size],
  ['day__min', (of) => least(of.map(({ day }) => day))],
  ['at__max', (of) => shown(greatest(of.map(({ at }) => at)))],
]

const firstDay = (date: string, part: string): string => {
  const [year = '', month = ''] = date.split('-')
  if (part === 'year') return `${year}-01-01`
  if (part === 'quarter') return `${year}-${String(Math.floor((Number(month) - 1) / 3) * 3 + 1).padStart(2, '0')}-01`
  if (part === 'month') return `${year}-${month}-01`
  if (part === 'day') return date
  const monday = new Date(`${date}T00:00:00Z`)
  monday.setUTCDate(monday.getUTCDate() - ((monday.getUTCDay() + 6) % 7))
  return monday.toISOString().slice(0, 10)
}
const parts = ['year', 'quarter', 'month', 'week', 'day']

/** Each group key, and its value for a row. */
const keys: readonly (readonly [string, (row: Row) => GroupValue])[] = [
  ['kind', ({ kind }) => kind],
  ['minutes', ({ minutes }) => minutes],
  ['cost', ({ cost }) => decimal(cost)],
  ['day', ({ day }) => day],
  ['venture', ({ venture }) => venture],
  ['visible', ({ visible: isVisible }) => isVisible],
  ['size', ({ size }) => String(size)],
  // Ventures out of scope are null.
  ['venture__name', ({ venture }) => (venture === null || venture > 2 ? null : (ventures[venture - 1] ?? null))],
  ...parts.map((part) => [`day__${part}`, ({ day }: Row) => firstDay(day, part)] as const),
  ...parts.map((part) => [`at__${part}`, ({ at }: Row) => firstDay(at.toISOString().slice(0, 10), part)] as const),
]

/** Compares as orderings do: nulls first, texts by their code points. */
const compare = (one: GroupValue, other: GroupValue): number => {
  if (one === other) return 0
  if (one === null || other === null) return one === null ? -1 : 1
  return one < other ? -1 : 1
}

/** The groups of rows by a key, in any order. */
function groupsOf(of: readonly Row[], key: (row: Row) => GroupValue): Map<GroupValue, Row[]> {
  const groups = new Map<GroupValue, Row[]>()
  for (const row of of) groups.set(key(row), [...(groups.get(key(row)) ?? []), row])
  return groups
}

const sortedText = (objects: readonly object[]): readonly string[] =>
  objects.map((object) => JSON.stringify(object)).toSorted()

test.each(aggregates)('%s of all records', async (name, compute) => {
  const { objects } = await listOf(`aggregate=${name}`)
  const [[, value] = []] = Object.entries(objects[0] ?? {})
  const expected = compute(visible)
  expect(objects).toHaveLength(1)
  // An average is divided as a double.
  if (name.endsWith('avg')) expect(value).toBeCloseTo(Number(expected), 9)
  else expect(objects).toEqual([{ [name]: expected }])
})

test.each(keys)('groups by %s', async (name, key) => {
  for (const [aggregate, compute] of [aggregates[0], aggregates[1], aggregates[6], aggregates[9]].flatMap((one) =>
    one === undefined ? [] : [one],
  )) {
    const { objects } = await listOf(`aggregate=${aggregate}&by=${name}&limit=100`)
    const expected = [...groupsOf(visible, key)].map(([value, of]) => ({ [name]: value, [aggregate]: compute(of) }))
    expect(sortedText(objects)).toEqual(sortedText(expected))
  }
})

test('groups by several keys are in the order of the keys, nulls first, and pages neither repeat nor skip', async () => {
  const key = ({ day, minutes }: Row): string => `${firstDay(day, 'week')} ${String(minutes + 500).padStart(5, '0')}`
  const expected = [...groupsOf(visible, key)]
    .toSorted(([one], [other]) => compare(one, other))
    .map(([, [row, ...others]]) => ({
      day__week: firstDay(row?.day ?? '', 'week'),
      minutes: row?.minutes,
      count: others.length + 1,
    }))
  const objects: object[] = []
  let path = '/api/entry/?aggregate=count&by=day__week,minutes&limit=7'
  while (path !== '') {
    const { meta, objects: page } = await listOf(path.slice(path.indexOf('?') + 1))
    objects.push(...page)
    path = meta.next
  }
  expect(objects).toEqual(expected)
})

test('an ordering by an aggregate is completed by the keys', async () => {
  const { objects } = await listOf('aggregate=count&by=venture,day&ordering=-count&limit=100')
  const values = objects as readonly { count: number; venture: number | null; day: string }[]
  const expected = values.toSorted(
    (one, other) => other.count - one.count || compare(one.venture, other.venture) || compare(one.day, other.day),
  )
  expect(objects).toEqual(expected)
  expect(new Set(values.map(({ count }) => count)).size).toBeGreaterThan(1)
})

const byDay = ({ day }: Row): string => day
const total = (of: readonly Row[]): number => sum(of.map(({ minutes }) => minutes)) ?? 0
const totalCost = (of: readonly Row[]): number => sum(costs(of)) ?? 0
const firstCost = totalCost(groupsOf(visible, byDay).get('2021-01-01') ?? [])
const costsOf = (of: readonly Row[]): readonly number[] => of.flatMap(({ cost }) => cost ?? [])
const maxSize = (of: readonly Row[]): bigint => of.reduce((max, { size }) => (size > max ? size : max), 0n)
const firstMax = maxSize(groupsOf(visible, byDay).get('2021-01-01') ?? [])
const firstSize = (groupsOf(visible, byDay).get('2021-01-01') ?? []).reduce((all, { size }) => all + size, 0n)

test.each<readonly [string, string, (of: readonly Row[]) => boolean]>([
  ['count', 'count__gte=8', (of) => of.length >= 8],
  ['count', 'count__lt=8', (of) => of.length < 8],
  ['count', 'count__ne=8', (of) => of.length !== 8],
  ['minutes__sum', 'minutes__sum__gte=300', (of) => total(of) >= 300],
  ['minutes__sum', 'minutes__sum__gte=300.5', (of) => total(of) >= 300.5],
  ['minutes__sum', 'minutes__sum__gt=200&minutes__sum__lt=600', (of) => total(of) > 200 && total(of) < 600],
  ['cost__sum', `cost__sum=${decimal(firstCost)}`, (of) => totalCost(of) === firstCost],
  ['cost__sum', `cost__sum__lte=${decimal(firstCost)}1`, (of) => totalCost(of) <= firstCost + 0.1],
  // Doubles would not distinguish these.
  ['size__sum', `size__sum=${firstSize}`, (of) => of.reduce((all, { size }) => all + size, 0n) === firstSize],
  [
    'size__sum',
    `size__sum__gt=${firstSize - 1n}&size__sum__lte=${firstSize}`,
    (of) => of.reduce((all, { size }) => all + size, 0n) === firstSize,
  ],
  ['minutes__avg', 'minutes__avg__gt=50', (of) => total(of) / of.length > 50],
  ['minutes__max', 'minutes__max__lte=140', (of) => Math.max(...of.map(({ minutes }) => minutes)) <= 140],
  [
    'cost__min',
    'cost__min__gte=-50.5&cost__min__lt=100',
    (of) =>
      of.some(({ cost }) => cost !== null) && Math.min(...costsOf(of)) >= -50_500 && Math.min(...costsOf(of)) < 100_000,
  ],
  ['size__max', `size__max__eq=${firstMax}`, (of) => maxSize(of) === firstMax],
  ['at__max', 'at__max__lt=2021-01-02', (of) => of.every(({ at }) => at < new Date('2021-01-02T00:00:00Z'))],
])('filters on groups: %s with %s', async (aggregate, filter, holds) => {
  const { objects } = await listOf(`aggregate=${aggregate}&by=day&${filter}&limit=100`)
  const expected = [...groupsOf(visible, byDay)].filter(([, of]) => holds(of)).map(([day]) => day)
  expect(objects.map((object) => (object as { day: string }).day)).toEqual(expected.toSorted())
})

test.each<readonly [string, (row: Row) => boolean]>([
  ['minutes__gte=60', ({ minutes }) => minutes >= 60],
  ['or=(minutes__lt:0,kind:b)', ({ minutes, kind }) => minutes < 0 || kind === 'b'],
  ['venture__name=north', ({ venture }) => venture === 1],
  ['venture__name__is=null', ({ venture }) => venture === null || venture > 2],
  // Two related records match, which must not double the sums.
  ['labels__id__gte=1', ({ labels }) => labels.length > 0],
  ['not=(labels__text:x)', ({ labels }) => labels.length === 0],
])('filters on records: %s', async (filter, holds) => {
  const { objects } = await listOf(`aggregate=count,minutes__sum&${filter}`)
  const matching = visible.filter(holds)
  expect(objects).toEqual([{ count: matching.length, minutes__sum: total(matching) }])
})

test.each(['count,count__sum', 'count__sum,count'])(
  'a field may be named like a function: aggregate=%s',
  async (aggregate) => {
    const world = await openWorld({
      entities: [Tally],
      seed: async (source) => void (await source.getRepository(Tally).insert([{ count: 2 }, { count: 4 }])),
    })
    try {
      const reply = await send(world.url, `GET /api/tally/?aggregate=${aggregate}&count__sum__gt=5`)
      expect([reply.status, reply.json()]).toMatchObject([200, { objects: [{ count: 2, count__sum: 6 }] }])
    } finally {
      await world.close()
    }
  },
)

test('without records there is one group, and none with keys', async () => {
  expect((await listOf('aggregate=count,cost__sum,minutes__avg,size__max&id=0')).objects).toEqual([
    { count: 0, cost__sum: null, minutes__avg: null, size__max: null },
  ])
  expect((await listOf('aggregate=count&by=kind&id=0')).objects).toEqual([])
})

test('a page takes one statement, which is the same for other values', async () => {
  const world = worlds[0]
  await listOf('aggregate=count&by=kind&minutes__gt=1&count__gt=1')
  world?.statements()
  await listOf('aggregate=count&by=kind&minutes__gt=2&count__gt=2')
  await listOf('aggregate=count&by=kind&minutes__gt=3&count__gt=0&page=2')
  const statements = world?.statements() ?? []
  expect(statements).toHaveLength(2)
  expect(new Set(statements).size).toBe(1)
})

test.each([
  ['entry/?aggregate=nope__sum', 'aggregate', 'is not a field of entry'],
  ['entry/?aggregate=hidden__sum', 'aggregate', 'is not a field of entry'],
  ['entry/?aggregate=count&by=hidden', 'by', 'is not a field of entry'],
  ['entry/?aggregate=count&by=venture__secret', 'by', 'is not a field of venture'],
  ['entry/?aggregate=minutes', 'aggregate', 'without a function'],
  ['entry/?aggregate=SUM(minutes)', 'aggregate', 'is not a field of entry; use minutes__sum; fields: '],
  ['entry/?aggregate=sum(hidden)', 'aggregate', 'is not a field of entry; fields: '],
  ['entry/?aggregate=minutes__median', 'aggregate', 'unknown suffix "median"'],
  [
    'entry/?aggregate=at__count_distinct',
    'aggregate',
    'cannot compute the count_distinct of at; functions of at: min, max',
  ],
  ['entry/?aggregate=kind__sum', 'aggregate', 'cannot compute the sum of kind; functions of kind: count_distinct'],
  ['entry/?aggregate=labels__id__sum', 'aggregate', 'leads to several records'],
  ['entry/?aggregate=count,count', 'aggregate', 'names "count" twice'],
  ['entry/?aggregate=', 'aggregate', 'has an empty name'],
  ['entry/?aggregate=count&by=at', 'by', 'use a date part: at__year'],
  ['entry/?aggregate=count&by=kind__week', 'by', 'is not a date'],
  ['entry/?aggregate=count&by=labels__id', 'by', 'leads to several records'],
  ['entry/?aggregate=count&by=ratio', 'by', 'cannot group by ratio'],
  ['entry/?by=kind', 'by', 'needs the parameter aggregate'],
  ['entry/?aggregate=count&by=id,kind,day,cost', 'by', 'at most 3 names'],
  ['entry/?aggregate=count&fields=id', 'fields', 'cannot be combined with aggregate'],
  [
    `entry/?aggregate=${['sum', 'avg', 'min', 'max', 'count_distinct'].map((name) => `minutes__${name}`).join()},count,cost__sum`,
    'aggregate',
    'at most 6 names',
  ],
  ['entry/?aggregate=count&ordering=minutes', 'ordering', 'is not in aggregate or by'],
  ['entry/?aggregate=count&count=exact', 'count', 'cannot be combined with aggregate'],
  ['entry/?aggregate=count&after=', 'after', 'cannot be combined with aggregate'],
  ['entry/?aggregate=count&limit=0', 'limit', 'must be an integer from 1'],
  ['entry/?aggregate=count&count__like=1', 'count__like', 'unknown operator "like"'],
  ['entry/?aggregate=count&count__gte=x', 'count__gte', 'must be a decimal number'],
  // A filter on a function that is not requested is no filter.
  ['entry/?aggregate=count&minutes__sum__gte=1', 'minutes__sum__gte', 'unknown operator "sum__gte"'],
  ['wage/?aggregate=amount__sum', 'aggregate', 'is not a field of wage'],
  ['wage/?aggregate=count&by=amount', 'by', 'is not a field of wage'],
  // A listener on the path may hide the key.
  ['badge/?aggregate=count&by=guard__label__text', 'by', 'its values are computed or transformed'],
  ['badge/?aggregate=guard__label__id__max', 'aggregate', 'its values are computed or transformed'],
  ['result/?aggregate=other__sum', 'aggregate', 'cannot be aggregated; fields: score'],
  // Without the option the parameters do not exist.
  [
    'venture/?aggregate=count',
    'aggregate',
    'is not a field of venture; as a parameter it needs the option "aggregate"',
  ],
  ['venture/?by=name', 'by', 'is not a field of venture'],
])('%s is 400', async (path, field, message) => {
  const reply = await get(path)
  const { errors } = reply.json() as { errors: { field: string; message: string }[] }
  expect([reply.status, errors[0]?.field]).toEqual([400, field])
  expect(errors[0]?.message).toContain(message)
})

test('of two names for the same column, the first decides the order', async () => {
  const { objects } = await listOf('aggregate=count&by=venture,venture_id&ordering=-venture')
  const keys = objects.map((object) => (object as { venture: number | null }).venture)
  expect(keys).toEqual([...new Set(visible.map(({ venture }) => venture))].toSorted((a, b) => (b ?? 0) - (a ?? 0)))
})

test.each(['fields', 'aggregate=count&ordering'])('a response has at most 20 errors of %s', async (parameter) => {
  const names = Array.from({ length: 300 }, (_, index) => `n${index}`).join()
  const { errors } = (await get(`entry/?${parameter}=${names}`)).json() as { errors: unknown[] }
  expect(errors).toHaveLength(20)
})

test('a sum that the database cannot represent is 400 on SQLite, and exact elsewhere', async () => {
  const world = await openWorld({
    entities: [Venture, Label, Entry, Result, Wage, Guard, Badge],
    seed: async (dataSource) => {
      const row = { minutes: 1, cost: '1', size: '9223372036854775807', ratio: 1, day: '2021-01-01', hidden: 1 }
      const entry = { ...row, at: new Date('2021-01-01T00:00:00Z'), visible: true }
      await dataSource.getRepository<object>(Entry).save([{ ...entry }, { ...entry }])
    },
  })
  const reply = await send(world.url, 'GET /api/entry/?aggregate=size__sum')
  if (isSqlite) expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('outside the range')])
  else expect(reply.json()).toMatchObject({ objects: [{ size__sum: '18446744073709551614' }] })
  await world.close()
})

test('generated requests reveal nothing of records out of scope', async () => {
  const functions = ['count', ...['sum', 'avg', 'min', 'max', 'count_distinct'].map((name) => `minutes__${name}`)]
  const related = [
    'venture__id__max',
    'venture__id__sum',
    'venture__name__count_distinct',
    'venture__open__count_distinct',
  ]
  const aggregate = fc.subarray([...functions, 'cost__sum', 'at__max', 'kind__count_distinct', ...related], {
    minLength: 1,
    maxLength: 6,
  })
  const by = fc.subarray(['kind', 'minutes', 'venture__name', 'venture__open', 'day__week', 'at__month'], {
    maxLength: 3,
  })
  const filters = fc.subarray([
    ...['minutes__gte=60', 'venture__name__ne=north', 'venture__name__is=null', 'not=(venture__open:true)'],
    ...['or=(venture__id__gt:2,kind:a)', 'labels__text=x', 'count__gte=3', 'limit=3', 'page=2'],
  ])
  const request = fc.record({ aggregate, by, filters, ordered: fc.nat(5), descending: fc.boolean() })
  const check = async (parts: {
    readonly aggregate: readonly string[]
    readonly by: readonly string[]
    readonly filters: readonly string[]
    readonly ordered: number
    readonly descending: boolean
  }): Promise<void> => {
    const ordering = parts.aggregate[parts.ordered]
    const query = [
      `aggregate=${parts.aggregate.join()}`,
      ...(parts.by.length > 0 ? [`by=${parts.by.join()}`] : []),
      ...(ordering === undefined ? [] : [`ordering=${parts.descending ? '-' : ''}${ordering}`]),
      // Without the function, `count__gte` is an unknown parameter.
      ...parts.filters.filter((filter) => !filter.startsWith('count') || parts.aggregate.includes('count')),
    ]
    await listOf(query.join('&'))
  }
  await fc.assert(fc.asyncProperty(request, check), { seed: 5, numRuns: 150 })
})

test('the OpenAPI document has the parameters where they are enabled', async () => {
  const world = worlds[0]
  const reply = await send(world?.url ?? '', 'GET /api/openapi.json')
  const { paths } = reply.json() as { paths: Record<string, { get: { parameters: { name: string }[] } }> }
  const has = (path: string): boolean => paths[path]?.get.parameters.some(({ name }) => name === 'aggregate') === true
  expect([has('/entry'), has('/result'), has('/venture')]).toEqual([true, true, false])
})

test('groups by a UUID', async () => {
  const world = await openWorld({
    entities: [Wage],
    seed: (dataSource) =>
      dataSource
        .getRepository(Wage)
        .save([{ amount: 1 }, { amount: 2 }])
        .then(() => undefined),
  })
  const records = (await send(world.url, 'GET /api/wage/')).json() as { objects: readonly { id: string }[] }
  const groups = (await send(world.url, 'GET /api/wage/?aggregate=count&by=id')).json() as {
    objects: readonly object[]
  }
  expect(groups.objects).toEqual(records.objects.map(({ id }) => ({ id, count: 1 })))
  await world.close()
})
