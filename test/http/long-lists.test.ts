import { Column, Entity, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource, type ScopeResult } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Filter objects with as many values and filters as are allowed: each request must fit into one statement. */

/** The greatest value that `limits.joins` may have. */
const maxJoins = 14

let filter: () => unknown = () => true
const filterOfTest = (): ScopeResult => filter() as ScopeResult

@Entity()
@Resource({ auth: permitAllAsUser1, scope: filterOfTest, may: { create: filterOfTest, update: filterOfTest } })
class Knot {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column(types.instant as { type: 'timestamptz' }) at!: Date
  @ManyToOne(
    () => Knot,
    ({ lefts }) => lefts,
    { nullable: true },
  )
  left!: Relation<Knot> | null
  @ManyToOne(() => Knot, { nullable: true }) right!: Relation<Knot> | null
  @OneToMany(
    () => Knot,
    ({ left }) => left,
  )
  lefts!: Relation<Knot>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Knot],
    mount: { limits: { joins: maxJoins, joinDepth: maxJoins } },
    // A single record, which is related to itself in all ways.
    seed: async (source) => {
      const knots = source.getRepository<object>(Knot)
      await knots.insert({ id: 1, name: 'n1', at: new Date('2024-01-01T00:00:01Z') })
      await knots.update({ id: 1 }, { left: { id: 1 }, right: { id: 1 } })
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, put, ids } = apiOf(() => world.url)

const numbers = (count: number, first = 1): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index)
const dateOf = (second: number, milliseconds = 0): Date => new Date(Date.UTC(2024, 0, 1, 0, 0, second, milliseconds))

/** Lists of which each is just longer than a power of two, to which lists are padded. */
const awkwardLengths = [513, 257, 129, 65, 33]

const filters: Readonly<Record<string, unknown>> = {
  'a list of 1,000 numbers': { id__in: numbers(1000) },
  'a list of 1,000 texts': { name__in: numbers(1000).map((number) => `n${number}`) },
  'a list of 1,000 date-times': { at__in: numbers(1000).map((second) => dateOf(second)) },
  'a list of 1,000 date-times with milliseconds': {
    at__in: [dateOf(1), ...numbers(999).map((second) => dateOf(second, 500))],
  },
  'lists of texts that have 997 members together': {
    or: awkwardLengths.map((length) => ({ name__in: numbers(length).map((number) => `n${number}`) })),
  },
  '500 alternatives': numbers(500).map((id) => ({ id })),
  '500 filters': { and: numbers(500, 2).map((id) => ({ id__ne: id })) },
}

/** A path of as many relations as a request may join. */
const path = (relation: string, count = maxJoins / 2): string => `${relation}__`.repeat(count)

const queries: Readonly<Record<string, string>> = {
  'without filters': '',
  'with relations to one record': `${path('left')}name=n1&${path('right')}name=n1`,
  // A table of a relation to many counts twice.
  'with relations to many records': `${path('lefts')}name=n1`,
  'with groups': `lefts__name=n1&not=(lefts__name:other)&or=(${Array.from({ length: maxJoins / 2 - 2 }, () => 'lefts__name:n1')})`,
  'with an ordering, by keyset, with a count': `${path('left')}name=n1&ordering=${path('right')}name&after=&count=exact`,
  'with as many values as a request may have': `${path('left')}id__in=${numbers(500)}&${path('right')}id__in=${numbers(500)}`,
}

describe.each(Object.entries(filters))('Filter objects with %s', (_, object) => {
  beforeEach(() => {
    filter = () => object
  })

  test.each(Object.entries(queries))('lists %s', async (_title, query) => {
    expect(await ids(`knot?${query}`)).toEqual([1])
  })

  test('items and updates', async () => {
    const found = await get('knot/1/')
    expect([found.status, (await put('knot/1', found.json())).status]).toEqual([200, 200])
  })
})
