import { Column, Entity, EntitySchema, Index, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isSqlite, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Dates that a transformer stores as values of another type, and values of another type that are stored as dates. */

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

const asText = {
  to: orNull((text: string) => new Date(text)),
  from: orNull((date: Date) => date.toISOString()),
}
const asNumber = {
  to: orNull((milliseconds: number) => new Date(milliseconds)),
  from: orNull((date: Date) => date.getTime()),
}
const truncated = {
  to: orNull((date: Date) => new Date(`${date.toISOString().slice(0, 10)}T00:00:00Z`)),
  from: (date: Date | null) => date,
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Slot {
  @Column({ ...types.instant, primary: true, transformer: asText }) id!: string
  @Column({ ...types.instant, unique: true, transformer: asText }) code!: string
  @Index() @Column({ ...types.instant, transformer: asText }) text!: string
  @Column({ ...types.instant, transformer: asNumber }) number!: number
  @Column({ ...types.instant, transformer: truncated }) day!: Date
  @Column({ default: 0 }) version!: number
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Slot) slot!: Slot
}

/** Without a class, the type of the property is not known: bodies accept any JSON, and filters are parsed as date-times. */
const Schema = new EntitySchema({
  name: 'schema',
  columns: {
    id: { type: Number, primary: true, generated: true },
    value: { type: types.instant.type as 'datetime', precision: 3, transformer: asText },
  },
})

const unchanged = { to: (value: unknown) => value ?? null, from: (value: unknown) => value }

/** The compiler records no class for these properties, whose types are unions. */
@Entity()
@Resource({ auth: permitAll })
class Union {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...types.instant, nullable: true, transformer: unchanged }) at!: Date | null
  @Column({ type: 'boolean', nullable: true, transformer: unchanged }) flag!: boolean | null
  @Column({ type: 'int', nullable: true, transformer: unchanged }) number!: number | null
}

const fields = ['epoch', 'seconds', 'reversed', 'iso', 'day', 'month', 'same'] as const
const starts = [1, 2, 3, 4, 5, 6].map((number) => `2024-0${number}-10 10:00:00`)

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Moment, Slot, Booking, Schema, Union],
    mount: { limits: { parameterValue: 20_000 }, resources: [{ entity: Schema, auth: () => anonymous }] },
  })
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

describe('a record is found by the value that it shows, if its date is stored as a date-time', () => {
  const days = ['2024-01-01T00:00:00.000Z', '2024-01-02T10:20:30.500Z', '2024-01-03T10:20:30.123Z'] as const
  const slotOf = (text: string) => ({
    id: text,
    code: text,
    text,
    number: Date.parse(text),
    day: `${text.slice(0, 10)} 00:00:00`,
  })
  const slots = days.map(slotOf)
  /** Values that no record has. */
  const absent = Array.from({ length: 5 }, (_, index) => slotOf(`1990-01-0${index + 1}T00:00:00.000Z`))
  const slotFields = ['id', 'code', 'text', 'number', 'day'] as const
  const shownIn = (field: (typeof slotFields)[number], of: readonly ReturnType<typeof slotOf>[]): string =>
    of.map((slot) => encodeURIComponent(slot[field])).join()

  beforeAll(async () => {
    for (const slot of slots) expect((await post('slot', slot)).json()).toMatchObject(slot)
  })

  const expectFound = async (resource: string, field: (typeof slotFields)[number], name: string, all: unknown[]) => {
    for (const [index, slot] of slots.entries()) {
      const found = {
        '': [all[index]],
        __in: [all[index]],
        __ne: all.toSpliced(index, 1),
        __lt: all.slice(0, index),
        __lte: all.slice(0, index + 1),
        __gt: all.slice(index + 1),
        __gte: all.slice(index),
      }
      for (const [operator, expected] of Object.entries(found)) {
        const query = `${name}${operator}=${shownIn(field, [slot])}`
        expect([query, await ids(`${resource}?${query}`)]).toEqual([query, expected])
      }
    }
    expect(await ids(`${resource}?${name}__in=${shownIn(field, [...slots, ...absent])}`)).toEqual(all)
    expect(await ids(`${resource}?${name}__in=${shownIn(field, absent)}`)).toEqual([])
  }

  test.each(slotFields)('%s', async (field) => {
    await expectFound('slot', field, field, [...days])
    const [first] = slots
    for (const filter of [field, `${field}__in`]) {
      const query = `${filter}=${shownIn(field, slots.slice(0, 1))}`
      const { status, json } = await send(world.url, `PATCH /api/slot/?${query}`, { body: { version: 1 } })
      expect([status, json()]).toMatchObject([200, { meta: { updated: 1 } }])
    }
    expect((await get(`slot/${first?.id}/`)).json()).toMatchObject({ ...first, version: 1 })
  })

  test('with an EntitySchema', async () => {
    const made = []
    for (const value of days) made.push(((await post('schema', { value })).json() as { id: number }).id)
    await expectFound('schema', 'text', 'value', made)
  })

  test('by its key in a path, an upsert and a foreign key', async () => {
    for (const { id, code } of slots) {
      const upsert = await send(world.url, 'POST /api/slot/?on_conflict=code', {
        body: { ...slotOf(code), version: 2 },
      })
      expect([upsert.status, upsert.json()]).toMatchObject([200, { id, version: 2 }])
      const booking = await post('booking', { slot_id: id })
      expect([booking.status, booking.json()]).toMatchObject([201, { slot_id: id }])
      const { headers } = await get(`slot/${id}/`)
      const patch = await send(world.url, `PATCH /api/slot/${id}/`, {
        headers: { 'If-Match': String(headers.etag) },
        body: { version: 3 },
      })
      expect([patch.status, patch.json()]).toMatchObject([200, { id, version: 3 }])
    }
    await expectFound('booking', 'id', 'slot__text', [1, 2, 3])
    const bulk = await post(
      'booking',
      slots.map(({ id }) => ({ slot_id: id })),
    )
    expect(bulk.status).toBe(201)
    expect((await post('booking', { slot_id: absent[0]?.id })).status).toBe(400)
    const extra = slotOf('2024-01-04T00:00:00.000Z')
    expect((await post('slot', extra)).status).toBe(201)
    expect((await send(world.url, `DELETE /api/slot/${extra.id}/`)).status).toBe(204)
  })

  if (isSqlite) {
    test('and SQL has stored it without a fraction, as CURRENT_TIMESTAMP does', async () => {
      const names = slotFields.map((field) => `"${field}"`).join()
      const stored = '2024-01-05 10:00:00'
      await world.sql(`INSERT INTO "slot" (${names}) VALUES (${slotFields.map(() => `'${stored}'`).join()})`)
      const slot = slotOf('2024-01-05T10:00:00.000Z')
      for (const field of ['id', 'code', 'text', 'number'] as const) {
        for (const [operator, found] of Object.entries({ '': [slot.id], __gte: [slot.id], __gt: [] })) {
          expect(await ids(`slot?${field}${operator}=${shownIn(field, [slot])}`)).toEqual(found)
        }
        expect(await ids(`slot?${field}__lte=${shownIn(field, [slot])}`)).toContain(slot.id)
        expect(await ids(`slot?${field}__ne=${shownIn(field, [slot])}`)).not.toContain(slot.id)
      }
      expect((await send(world.url, `DELETE /api/slot/${slot.id}/`)).status).toBe(204)
    })
  }
})

describe('a property without a class, whose transformer changes no value, has the class of its column type', () => {
  test('dates and booleans are shown, and found by the shown value', async () => {
    const body = { at: '2024-06-01T12:20:30.987+02:00', flag: true, number: 5 }
    const shown = { at: '2024-06-01 10:20:30', flag: true, number: 5 }
    expect((await post('union', body)).json()).toEqual({ id: 1, ...shown })
    expect((await post('union', { at: null, flag: null })).json()).toMatchObject({ at: null, flag: null })
    for (const [name, value] of Object.entries(shown)) {
      expect([name, await ids(`union/?${name}=${encodeURIComponent(value)}`)]).toEqual([name, [1]])
    }
    expect(await ids('union/?flag__is=true')).toEqual([1])
  })

  test.each(['yesterday', '2024-06-31 10:20:30', 5, true, ['2024-06-01'], {}])('%j is no date', async (at) => {
    expect((await post('union', { at })).json()).toMatchObject({ status: 400, errors: [{ field: 'at' }] })
  })

  test.each([1, 'true', 'yes', {}])('%j is no boolean', async (flag) => {
    expect((await post('union', { flag })).json()).toMatchObject({ status: 400, errors: [{ field: 'flag' }] })
  })
})
