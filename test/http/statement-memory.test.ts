import { AfterLoad, Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { heapInUse } from '../support/heap'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Sample {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', nullable: true }) a!: number | null
  @Column({ type: 'int', nullable: true }) b!: number | null
  @Column({ type: 'int', nullable: true }) c!: number | null
  @Column({ type: 'int', nullable: true }) d!: number | null
}

/** Has columns whose names look like parameters of a statement. */
@Entity({ name: 'named:tr_0' })
@Resource({ auth: permitAll })
class Named {
  @PrimaryGeneratedColumn({ name: ':tr_0' }) id!: number
  @Column({ name: ':tr_1', nullable: true }) first!: string
  @Column({ name: 'x:tr_2 y', default: 'd' }) second!: string
  @Column({ name: ':0', nullable: true }) third!: string
}

@Entity()
@Resource({ auth: permitAll })
class Individual {
  @PrimaryGeneratedColumn() id!: number
  @Column() surname!: string
}

/** Its names have 13 characters or more: V8 represents such parts of a URL by references to the URL. */
@Entity()
@Resource({ auth: permitAll })
class Assignment {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Individual) responsibleIndividual!: Individual
  @Column({ nullable: true }) titleOfAssignment!: string
  @Column({ nullable: true }) placeOfAssignment!: string
}

/** Its records are locked and checked before a write of several records, because `may` depends on the record. */
@Entity()
@Resource({ auth: permitAll, bulk: true, may: { update: () => ({ rank__gte: 0 }), delete: () => ({ rank__gte: 0 }) } })
class Guarded {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', default: 0 }) rank!: number
}

/** Has many columns, all of which are read for its load listener. */
@Entity()
@Resource({ auth: permitAll })
class Wide {
  @PrimaryGeneratedColumn() id!: number
  @AfterLoad()
  noteLoad(): void {}
}
const wideCount = 300
for (let index = 0; index < wideCount; index++) Column({ type: 'int', nullable: true })(Wide.prototype, `f${index}`)

@Entity()
@Resource({ auth: permitAll })
class WideOwner {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Wide) wide!: Wide
}

@Entity()
@Resource({ auth: permitAll })
class Case {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany('Broad', 'case') broads!: Relation<Broad>[]
}

/** Belongs to lists that a request can include below a record. */
@Entity()
@Resource({ auth: permitAll })
class Broad {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Case, 'broads') case!: Relation<Case>
}
for (let index = 0; index < wideCount; index++) Column({ type: 'int', nullable: true })(Broad.prototype, `f${index}`)

@Entity()
@Resource({ auth: permitAll })
class CaseOwner {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Case) case!: Relation<Case>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Sample, Named, Individual, Assignment, Guarded, Wide, WideOwner, Case, Broad, CaseOwner],
  })
  await world.dataSource.getRepository(Case).insert({})
  await world.dataSource.getRepository(CaseOwner).insert({ case: { id: 1 } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put, ids } = apiOf(() => world.url)

test('a column can have a name that looks like a parameter', async () => {
  const created = await post('named', { first: 'one', third: 'three' })
  expect(created.json()).toEqual({ id: 1, first: 'one', second: 'd', third: 'three' })
  expect((await put('named/1', { second: 'two' })).json()).toMatchObject({ first: 'one', second: 'two' })
  expect(await ids('named/?first=one&second=two&third__in=three,four&id__gte=1&ordering=second')).toEqual([1])
  expect(await ids('named/?first=other')).toEqual([])
  expect((await get('named/1/')).json()).toMatchObject({ id: 1, second: 'two' })
})

/** A query with almost the maximum number of values, in lists whose lengths differ for each index. */
function largestQuery(index: number): string {
  const lists = ['a', 'b', 'c', 'd'].map((field, position) => {
    const length = 249 - ((index * (position + 3)) % (37 + position * 6))
    return `${field}__in=${Array(length).fill(1).join(',')}`
  })
  return `sample/?${lists.join('&')}`
}

test('queries of many shapes keep little memory', async () => {
  await get(largestQuery(0))
  const before = heapInUse()
  for (let index = 0; index < 300; index++) expect((await get(largestQuery(index))).status).toBe(200)
  expect(heapInUse() - before).toBeLessThan(7 * 2 ** 20)
})

test('selections of fields of included records with load listeners keep little memory', async () => {
  const select = (index: number): string =>
    `wideowner/?include=wide(fields:"f${index % wideCount},f${(index * 7 + 1) % wideCount}")`
  for (let index = 0; index < 60; index++) expect((await get(select(index))).status).toBe(200)
  const before = heapInUse()
  for (let index = 60; index < 160; index++) await get(select(index))
  expect((heapInUse() - before) / 100).toBeLessThan(40 * 1024)
})

test('selections of fields of lists below included records are not kept if they are long', async () => {
  const select = (index: number): string => {
    const names = Array.from({ length: 150 }, (_, name) => `f${(name * 2 + (name < index ? 1 : 0)) % wideCount}`)
    return `caseowner/?include=case(fields:id,include:(broads(fields:(${names.join()}))))`
  }
  for (let index = 0; index < 30; index++) expect((await get(select(index))).status).toBe(200)
  const before = heapInUse()
  for (let index = 30; index < 130; index++) await get(select(index))
  expect((heapInUse() - before) / 100).toBeLessThan(50 * 1024)
})

/** Queries of 12,000 characters whose shapes differ for each index: by a name, in groups, or by the ordering. */
const longUrls: readonly (readonly [string, (index: number) => string])[] = [
  ['foreign keys', (index) => `responsibleIndividual_id=1&${repeated('titleOfAssignment', index)}`],
  ['groups', (index) => `or=(responsibleIndividual_id:1,titleOfAssignment:a)&${repeated('placeOfAssignment', index)}`],
  [
    'orderings',
    (index) => `ordering=responsibleIndividual_id,-titleOfAssignment&${repeated('placeOfAssignment', index)}`,
  ],
]

/** Six filters with long values. The operators of the other three differ for each index below 343. */
function repeated(name: string, index: number): string {
  const operators = ['', '__ne', '__lt', '__lte', '__gt', '__gte', '__in']
  const names = [1, 7, 49].map((divisor) => `${name}${operators[Math.floor(index / divisor) % 7]}=a`)
  return [...names, ...Array<string>(6).fill(`titleOfAssignment=${'x'.repeat(2000)}`)].join('&')
}

test.each(longUrls)('cached queries do not keep the URLs of requests: %s', async (_, queryOf) => {
  await get(`assignment/?${queryOf(342)}`)
  const before = heapInUse()
  for (let index = 0; index < 300; index++) expect((await get(`assignment/?${queryOf(index)}`)).status).toBe(200)
  expect(heapInUse() - before).toBeLessThan(3 * 2 ** 20)
})

test('the total number of list members in a query is limited', async () => {
  const list = (length: number): string => Array(length).fill(1).join(',')
  expect((await get(`sample/?a__in=${list(500)}&b__in=${list(500)}`)).status).toBe(200)
  const refused = await get(`sample/?a__in=${list(500)}&b__in=${list(400)}&c__in=${list(101)}`)
  expect(refused.json()).toMatchObject({
    status: 400,
    errors: [{ field: 'c__in', message: 'is one value too many: all filters together may have at most 1000 values' }],
  })
})

test.each([
  ['PATCH', 'sample', { a: 1 }],
  ['DELETE', 'sample', undefined],
  ['PATCH', 'guarded', { rank: 1 }],
  ['DELETE', 'guarded', undefined],
])('%s on the collection %s has few different statements for all values of max', async (method, name, body) => {
  world.statements()
  for (let max = 1; max <= 100; max++) {
    expect((await send(world.url, `${method} /api/${name}/?id__lt=0&max=${max}`, { body })).status).toBe(200)
  }
  const limited = world.statements().filter((sql) => sql.includes('LIMIT'))
  expect(limited).toHaveLength(100)
  expect(new Set(limited).size).toBeLessThan(10)
})
