import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Dates that a transformer stores as values of another type. */

const orNull =
  <From, To>(convert: (value: From) => To) =>
  (value: From | null | undefined): To | null =>
    value === null || value === undefined ? null : convert(value)

const transformer = <Stored>(to: (date: Date) => Stored, from: (stored: Stored) => Date) => ({
  to: orNull(to),
  from: orNull(from),
})

const epoch = transformer<unknown>(
  (date) => date.getTime(),
  (stored) => new Date(Number(stored)),
)
const seconds = transformer<unknown>(
  (date) => Math.floor(date.getTime() / 1000),
  (stored) => new Date(Number(stored) * 1000),
)
/** Later dates are stored as smaller numbers. */
const reversed = transformer<unknown>(
  (date) => -date.getTime(),
  (stored) => new Date(-Number(stored)),
)
const iso = transformer<string>(
  (date) => date.toISOString(),
  (stored) => new Date(stored),
)
const day = transformer<string>(
  (date) => date.toISOString().slice(0, 10),
  (stored) => new Date(stored),
)
const month = transformer<string>(
  (date) => date.toISOString().slice(0, 7),
  (stored) => new Date(`${stored}-01T00:00:00Z`),
)
const same = transformer<Date | string>(
  (date) => date,
  (stored) => new Date(stored),
)

@Entity()
@Resource({ auth: permitAll })
class Moment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'bigint', nullable: true, transformer: epoch }) epoch!: Date
  @Column({ type: 'int', nullable: true, transformer: seconds }) seconds!: Date
  @Column({ type: 'bigint', nullable: true, transformer: reversed }) reversed!: Date
  @Column({ type: 'varchar', length: 40, nullable: true, transformer: iso }) iso!: Date
  @Column({ type: 'date', nullable: true, transformer: day }) day!: Date
  @Column({ type: 'varchar', length: 10, nullable: true, transformer: month }) month!: Date
  @Column({ ...types.instant, nullable: true, transformer: same }) same!: Date
}

const fields = ['epoch', 'seconds', 'reversed', 'iso', 'day', 'month', 'same'] as const
const starts = [1, 2, 3, 4, 5, 6].map((number) => `2024-0${number}-10 10:00:00`)

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Moment], mount: { limits: { parameterValue: 20_000 } } })
  for (const start of starts) {
    const made = await post('moment', Object.fromEntries(fields.map((field) => [field, start])))
    expect(made.status).toBe(201)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post } = apiOf(() => world.url)

type Shown = Readonly<Record<string, string>>
const shownBy = async (id: number): Promise<Shown> => (await get(`moment/${id}/`)).json() as Shown

/** Dates that no record has. */
const others = Array.from({ length: 500 }, (_, index) => `1990-01-01T00:00:00${index % 2 ? '.5' : ''}Z`)

describe.each(fields)('a record is found by the date that it shows: %s', (field) => {
  test.each([1, 4, 5, 500])('in a list of %d dates', async (length) => {
    const [first, second] = [await shownBy(3), await shownBy(4)]
    const members = [first[field], second[field], ...others].slice(0, length)
    expect(
      await ids(`moment?${field}__in=${members.map((member) => encodeURIComponent(member ?? '')).join()}`),
    ).toEqual(length === 1 ? [3] : [3, 4])
  })

  test('by a comparison with one date', async () => {
    const shown = encodeURIComponent((await shownBy(3))[field] ?? '')
    expect(await ids(`moment?${field}=${shown}`)).toEqual([3])
    expect(await ids(`moment?${field}__ne=${shown}`)).toEqual([1, 2, 4, 5, 6])
    const isReversed = field === 'reversed'
    expect(await ids(`moment?${field}__${isReversed ? 'gte' : 'lte'}=${shown}`)).toEqual([1, 2, 3])
    expect(await ids(`moment?${field}__${isReversed ? 'lt' : 'gt'}=${shown}`)).toEqual([4, 5, 6])
  })
})

test.each(['epoch', 'iso', 'same'])('a stored fraction of a second does not affect comparisons: %s', async (field) => {
  const made = await post('moment', { [field]: '2025-01-01T10:20:30.456Z' })
  const { id } = made.json() as { id: number }
  expect((await shownBy(id))[field]).toBe('2025-01-01 10:20:30')
  const shown = '2025-01-01T10:20:30Z'
  for (const filter of [`=${shown}`, `__in=${[shown, ...others.slice(0, 5)].join()}`, `__gte=${shown}`]) {
    expect([filter, await ids(`moment?${field}${filter}`)]).toEqual([filter, [id]])
  }
  expect(await ids(`moment?${field}__gt=${shown}`)).toEqual([])
  expect(await ids(`moment?${field}__lte=${shown}&${field}__gt=2025-01-01`)).toEqual([id])
  await world.sql(`DELETE FROM "moment" WHERE "id" = ${id}`)
})

test('a date that is stored as a day or a month is compared as the whole day or month', async () => {
  expect(await ids('moment?day=2024-03-10T23:59:59Z')).toEqual([3])
  expect(await ids(`moment?day__in=${[...others.slice(0, 5), '2024-03-10T10:00:00.5Z'].join()}`)).toEqual([3])
  expect(await ids('moment?month=2024-03-15')).toEqual([3])
})
