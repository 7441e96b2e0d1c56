import { Column, type DataSource, Entity, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { isMariadb, isSqlite, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Long `in` lists of values that take more than one comparison each: dates, times, date-times and keys of several columns. */

@Entity()
@Resource({ auth: permitAll })
class Event {
  @PrimaryColumn() id!: number
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ type: 'time', nullable: true, ...(isMariadb ? { precision: 6 } : {}) }) time!: string | null
  @Column({ ...types.instant, nullable: true }) at!: Date | null
  @ManyToOne(() => Event, 'parts') whole!: Relation<Event> | null
  @OneToMany(() => Event, 'whole') parts!: Relation<Event>[]
  @ManyToOne(() => Seat) seat!: Relation<Seat> | null
}

@Entity()
@Resource({ auth: permitAll })
class Seat {
  @PrimaryColumn() row!: number
  @PrimaryColumn({ type: 'varchar', length: 10 }) letter!: string
  @PrimaryColumn({ type: 'date' }) day!: string
  @OneToMany(() => Event, 'seat') events!: Relation<Event>[]
}

const days = Array.from({ length: 500 }, (_, index) => new Date(86_400_000 * index).toISOString().slice(0, 10))
const times = Array.from({ length: 500 }, (_, index) => new Date(60_000 * index).toISOString().slice(11, 19))
const instants = Array.from({ length: 500 }, (_, index) => new Date(60_000 * index + (index % 2)).toISOString())
const seats = Array.from({ length: 500 }, (_, index) => [index % 40, `a${index % 7}`, days[index] ?? ''] as const)
/** Keys of several columns as members of a list. */
const quoted = seats.map(([row, letter, day]) => `"${row},${letter},${day}"`)

async function seed(dataSource: DataSource): Promise<void> {
  const seatRows = [1, 2, 3, 5].map((index) => {
    const [row = 0, letter = '', day = ''] = seats[index] ?? []
    // A date in no list, since the collation could make it equal to one.
    return { row, letter: index === 5 ? letter.toUpperCase() : letter, day }
  })
  await dataSource.getRepository(Seat).insert(seatRows)
  const at = (milliseconds: number): Date => new Date(milliseconds)
  const [one, two] = seatRows
  const rows = [
    { id: 1, day: days[7], time: times[7], at: at(7 * 60_000 + 1), seat: one },
    { id: 2, day: days[8], time: times[8], at: at(8 * 60_000), seat: two, whole: { id: 1 } },
    { id: 3, day: days[8], time: `${times[8]}.25`, at: at(8 * 60_000 + 250), whole: { id: 1 } },
    { id: 4, day: '2024-02-29', time: '23:00:01', at: at(7 * 60_000), seat: seatRows[3], whole: { id: 2 } },
    { id: 5, day: null, time: null, at: null },
    { id: 6, day: days[499], time: times[499], at: at(499 * 60_000 + 1), whole: { id: 2 } },
  ]
  for (const row of rows) await dataSource.getRepository(Event).insert(row as object)
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Event, Seat], seed, mount: { limits: { parameterValue: 20_000 } } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids } = apiOf(() => world.url)

const list = (members: readonly string[]): string => members.map(encodeURI).join()
/** Lengths of lists. Each list begins with the value that is looked for. */
const lengths = [1, 4, 5, 256, 257, 499]
const from = (members: readonly string[], first: number, length: number): string =>
  list([...members.slice(first), ...members.slice(0, first)].slice(0, length))

test.each(
  lengths.flatMap(
    (length) =>
      [
        [length, 'a date', `day__in=${from(days, 8, length)}`, length < 492 ? [2, 3] : [2, 3, 6]],
        [length, 'a time', `time__in=${from(times, 8, length)}`, length < 492 ? [2, 3] : [2, 3, 6]],
        [length, 'a date-time', `at__in=${from(instants, 8, length)}`, length < 492 ? [2, 3] : [2, 3, 6]],
        [
          length,
          'a date-time to the millisecond',
          `at__in=${from(instants, 499, length)}`,
          length < 9 ? [6] : [1, 2, 3, 6],
        ],
        [length, 'a key of several columns', `seat__in=${from(quoted, 2, length)}`, length < 500 ? [2] : [1, 2]],
        [length, 'a date of a related record', `parts__day__in=${from(days, 8, length)}`, length < 492 ? [1] : [1, 2]],
        [
          length,
          'a time of a related record',
          `parts__time__in=${from(times, 8, length)}`,
          length < 492 ? [1] : [1, 2],
        ],
        [
          length,
          'a date-time of a related record',
          `parts__at__in=${from(instants, 8, length)}`,
          length < 492 ? [1] : [1, 2],
        ],
      ] as const,
  ),
)('a list of %i members finds the records of %s', async (_, __, query, expected) => {
  const found = await ids(`event/?${query}`)
  expect(found).toEqual(expected)
  // The negated group finds the other records.
  const [name, members] = query.split('=')
  expect(await ids(`event/?not=(${name}:(${members}))`)).toEqual([1, 2, 3, 4, 5, 6].filter((id) => !found.includes(id)))
})

test('a list of 500 keys of several columns finds the records through a to-many relation', async () => {
  const found = await get(`seat/?events__seat__in=${list(quoted)}&limit=9`)
  expect(found.json()).toMatchObject({ objects: [{ id: '1,a1,1970-01-02' }, { id: '2,a2,1970-01-03' }] })
})

describe('in a table of 10,000 records', () => {
  let large: World
  beforeAll(async () => {
    const fill = async (dataSource: DataSource): Promise<void> => {
      const rows = Array.from({ length: 10_000 }, (_, id) => ({
        id,
        day: '2024-02-29',
        time: '23:00:01',
        at: new Date(9e11),
      }))
      await insertRows(dataSource, Event, rows)
    }
    const limits = { parameterValue: 20_000 }
    large = await openWorld({ entities: [Event, Seat], seed: fill, mount: { limits, statementTimeout: 600 } })
  })
  afterAll(() => large.close())

  test.each([
    ['dates', `day__in=${list(days)}`],
    ['times', `time__in=${list(times)}`],
    ['date-times', `at__in=${list(instants)}`],
    ['dates and times', `day__in=${list(days)}&time__in=${list(times)}`],
    ['dates of related records', `whole__day__in=${list(days)}`],
  ])('a list of 500 %s takes no longer than other filters', async (_, query) => {
    const start = performance.now()
    const { status } = await send(large.url, `GET /api/event/?${query}`)
    expect([status, performance.now() - start < 600]).toEqual([200, true])
  })
})

if (isSqlite)
  test('the time limit ends a statement that compares many values, while other requests run', async () => {
    const fill = async ({ manager }: DataSource): Promise<void> => {
      const digits = '(SELECT column1 AS d FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)))'
      const number = '10000 * a.d + 1000 * b.d + 100 * c.d + 10 * e.d + f.d'
      const tables = ['a', 'b', 'c', 'e', 'f'].map((alias) => `${digits} ${alias}`)
      // sqlite3 runs in another thread, which must still be busy when the timer fires late on a busy machine.
      await manager.query(`INSERT INTO event (id, day) SELECT ${number}, '2024-02-29' FROM ${tables.join()}`)
    }
    const limited = await openWorld({ entities: [Event, Seat], seed: fill, mount: { statementTimeout: 100 } })
    const filters = Array.from({ length: 25 }, (_, index) => `day__in:(${list(days.slice(4 * index, 4 * index + 4))})`)
    const long = `GET /api/event/?or=(${filters.join()})`
    // Whether sqlite3 blocks the event loop depends on which statement begins first.
    for (let round = 0; round < 6; round++) {
      const lines = [...Array(3).fill('GET /api/seat/'), long, ...Array(20).fill('GET /api/seat/')]
      const responses = await Promise.all(lines.map((line) => send(limited.url, line)))
      expect(responses.map(({ status }) => status)).toEqual(lines.map((line) => (line === long ? 503 : 200)))
    }
    expect(limited.faults).toMatchObject(Array(6).fill({ name: 'DatabaseError' }))
    await limited.close()
  })
