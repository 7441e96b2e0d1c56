import { Column, type DataSource, Entity, JoinTable, ManyToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Included lists of a many-to-many relation with few and many records: SQLite reads all of them if they are few. */

@Entity()
@Resource({ auth: permitAll })
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column('int') weight!: number
  @ManyToMany(
    () => Entry,
    ({ labels }) => labels,
  )
  entries!: Relation<Entry>[]
}

@Entity()
@Resource({ auth: permitAll })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @ManyToMany(
    () => Label,
    ({ entries }) => entries,
  )
  @JoinTable()
  labels!: Relation<Label>[]
}

const labelCount = 60
const weightOf = (id: number): number => (id * 7) % 11
const labels = Array.from({ length: labelCount }, (_, index) => ({
  id: index + 1,
  name: `label ${index + 1}`,
  weight: weightOf(index + 1),
}))

/** Numbers of labels of the entries 1, 2, …: their sum is below, at and above the ten for each entry that are read together. */
const distributions: readonly (readonly number[])[] = [
  [0, 0, 0],
  [1, 0, 3],
  [30, 0, 0],
  [0, 31, 0],
  [10, 10, 10],
  [10, 11, 10],
  [60, 60, 60],
]

let world: World
const entries: { readonly first: number; readonly ids: readonly (readonly number[])[] }[] = []

async function seed(dataSource: DataSource): Promise<void> {
  await insertRows(dataSource, Label, labels)
  let next = 1
  for (const counts of distributions) {
    const ids = counts.map((count, index) =>
      labels
        .map(({ id }) => 1 + ((id * 13 + index) % labelCount))
        .slice(0, count)
        .sort((one, other) => one - other),
    )
    entries.push({ first: next, ids })
    for (const own of ids) {
      await dataSource.getRepository(Entry).save({ labels: own.map((id) => ({ id })) })
      next += 1
    }
  }
}

beforeAll(async () => {
  world = await openWorld({ entities: [Entry, Label], seed })
})
afterAll(() => world.close())

const orderings: readonly (readonly [text: string, compare: (one: number, other: number) => number])[] = [
  ['', (one, other) => one - other],
  [',ordering:-id', (one, other) => other - one],
  [',ordering:weight', (one, other) => weightOf(one) - weightOf(other) || one - other],
]

describe.each(orderings)('%s', (text, compare) => {
  test.each(distributions.map((counts, index) => ({ counts: counts.join(), index })))(
    'entries with $counts labels have the first ones, and the path of the others',
    async ({ index }) => {
      const { first = 0, ids = [] } = entries[index] ?? {}
      for (const limit of [1, 3, 10, 100]) {
        for (const filter of ['', ',weight__gte:5']) {
          const include = `labels(limit:${limit}${text}${filter},fields:name)`
          const reply = await apiOf(() => world.url).get(
            `entry/?id__in=${ids.map((_, offset) => first + offset).join()}&include=${include}`,
          )
          const shown = (
            reply.json() as { objects: { id: number; labels: { id: number }[]; labels_next: string }[] }
          ).objects.map(({ id, labels: own, labels_next: path }) => [id, own.map((label) => label.id), path !== ''])
          const expected = ids.map((own, offset) => {
            const all = own.filter((id) => filter === '' || weightOf(id) >= 5).toSorted(compare)
            return [first + offset, all.slice(0, limit), all.length > limit]
          })
          expect([include, shown]).toEqual([include, expected])
        }
      }
    },
  )
})

test('few labels are read with one statement, and many with one or, on SQLite, two', async () => {
  const counts: number[] = []
  for (const { first } of entries) {
    await apiOf(() => world.url).get(`entry/?id__in=${first},${first + 1},${first + 2}&include=labels`)
    world.statements()
    await apiOf(() => world.url).get(`entry/?id__in=${first},${first + 1},${first + 2}&include=labels`)
    counts.push(world.statements().length)
  }
  expect(counts).toEqual(isSqlite ? [2, 2, 2, 3, 2, 3, 3] : [2, 2, 2, 2, 2, 2, 2])
})
