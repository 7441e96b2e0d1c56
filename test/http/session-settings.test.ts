import { type ColumnOptions, EntitySchema } from 'typeorm'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { isMariadb, isPostgres, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

const instant = '2024-02-03 04:05:06'
const values: Readonly<Record<string, readonly [type: ColumnOptions, value: unknown]>> = {
  instant: [types.instant, instant],
  day: [{ type: 'date' }, '2024-02-03'],
  clock: [{ type: 'time' }, '04:05:06'],
  ...(isPostgres && {
    local: [{ type: 'timestamp' }, instant],
    span: [{ type: 'interval' }, '1 day 02:30:00'],
    negative: [{ type: 'interval' }, '-1 days +02:30:00'],
    instants: [{ type: 'timestamptz', array: true }, [instant, null]],
    locals: [{ type: 'timestamp', array: true }, [instant]],
    days: [{ type: 'date', array: true }, ['2024-02-03']],
    spans: [{ type: 'interval', array: true }, ['1 day 02:30:00']],
    range: [{ type: 'tsrange' }, '["2024-02-03 04:05:06","2024-03-04 05:06:07")'],
    dates: [{ type: 'daterange' }, '[2024-02-03,2024-03-04)'],
  }),
}

const Moment = new EntitySchema<{ id: number; instant: Date }>({
  name: 'moment',
  columns: {
    id: { type: Number, primary: true, generated: true },
    ...Object.fromEntries(Object.entries(values).map(([name, [type]]) => [name, type as { type: 'date' }])),
  } as never,
})

// Only PostgreSQL has these settings.
describe.each([
  ['German, DMY', 'iso_8601'],
  ['SQL, DMY', 'sql_standard'],
  ['Postgres, MDY', 'postgres_verbose'],
  ['ISO, YMD', 'postgres'],
])('sessions with DateStyle %s and IntervalStyle %s', (dateStyle, intervalStyle) => {
  let world: World
  beforeAll(async () => {
    const options = `-c DateStyle=${dateStyle.replace(' ', '')} -c IntervalStyle=${intervalStyle}`
    world = await openWorld({
      entities: [Moment],
      mount: { resources: [{ entity: Moment, auth: permitAll }] },
      ...(isPostgres && { source: { extra: { options } } }),
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, ids, post, put } = apiOf(() => world.url)
  const record = Object.fromEntries(Object.entries(values).map(([name, [, value]]) => [name, value]))

  test('values are shown, found, sent back and paged as with the default settings', async () => {
    const made = await post('moment', record)
    const { id } = made.json() as { id: number }
    expect([made.status, made.json()]).toEqual([201, { id, ...record }])
    await post('moment', { ...record, instant: '2025-01-01 00:00:00', day: '2025-01-01' })
    // More requests at the same time than there are connections.
    const replies = await Promise.all(Array.from({ length: 12 }, () => get(`moment/${id}/`)))
    for (const reply of replies) expect(reply.json()).toEqual({ id, ...record })
    expect((await put(`moment/${id}`, made.json())).json()).toEqual(made.json())
    for (const query of [
      'instant=2024-02-03 04:05:06',
      'day=2024-02-03',
      'instant__lt=2025-01-01',
      'day__lt=2024-12-31',
    ]) {
      expect([query, await ids(`moment?${query.replace(' ', '%20')}`)]).toEqual([query, [id]])
    }
    for (const ordering of ['instant', 'day', '-instant']) {
      const first = (await get(`moment?ordering=${ordering}&limit=1&after=`)).json() as { meta: { next: string } }
      const second = await get(first.meta.next.replace('/api/', ''))
      expect([ordering, (second.json() as { objects: unknown[] }).objects.length]).toEqual([ordering, 1])
    }
  })

  test("the application's own statements read the right date-times", async () => {
    const [stored] = await world.dataSource.getRepository(Moment).find({ order: { id: 'ASC' }, take: 1 })
    expect(stored?.instant).toEqual(new Date(`${instant.replace(' ', 'T')}Z`))
  })
})

const Reading = new EntitySchema<{ id: number; double: number; single: number }>({
  name: 'reading',
  columns: {
    id: { type: Number, primary: true, generated: true },
    double: { type: isPostgres ? 'double precision' : 'double' },
    single: { type: isPostgres ? 'real' : 'float' },
  },
})

describe.each([-15, -6, 0, 1, 3])('sessions with extra_float_digits %d', (digits) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Reading],
      mount: { resources: [{ entity: Reading, auth: permitAll }] },
      ...(isPostgres && { source: { extra: { options: `-c extra_float_digits=${digits}` } } }),
    })
  })
  afterAll(() => world.close())
  const { ids, post, put } = apiOf(() => world.url)

  test('floats are shown with all of their digits, found by these, and each is on one page by keyset', async () => {
    const made: unknown[] = []
    for (let index = 0; index < 6; index++) {
      const values = { double: 1 / 3 + index * 2 ** -50, single: 0.3333333 + index * 2 ** -22 }
      const reply = await post('reading', values)
      const { id, double, single } = reply.json() as { id: number; double: number; single: number }
      expect([double, Math.fround(single)]).toEqual([values.double, Math.fround(values.single)])
      expect((await put(`reading/${id}`, reply.json())).json()).toEqual(reply.json())
      expect(await ids(`reading?double=${double}&single=${single}`)).toEqual([id])
      made.push(id)
    }
    for (const ordering of ['double', 'single']) {
      const seen = idsOf(await readPages(world.url, `/api/reading/?ordering=${ordering}&limit=1&after=`))
      expect([ordering, seen]).toEqual([ordering, made])
    }
  })
})

const Stamped = new EntitySchema<{ id: number; at: Date; maybe: Date | null }>({
  name: 'stamped',
  columns: {
    id: { type: Number, primary: true, generated: true },
    at: isMariadb ? { type: 'timestamp', precision: 3 } : types.instant,
    maybe: { ...(isMariadb ? { type: 'timestamp' } : types.instant), nullable: true },
  } as never,
})

describe('sessions whose time zone changes between two pages', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Stamped],
      mount: { resources: [{ entity: Stamped, auth: permitAll }] },
      // A single connection, so that its time zone is that of all requests.
      source: { poolSize: 1 } as object,
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, post } = apiOf(() => world.url)

  test.each(['at', '-at', 'maybe', '-maybe', 'maybe__nullslast', '-maybe__nullsfirst'])(
    'every record is on one page by keyset: %s',
    async (ordering) => {
      const made: unknown[] = []
      for (let minute = 0; minute < 120; minute += 20) {
        const at = `2024-10-27 0${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}:00`
        made.push(((await post('stamped', { at, maybe: minute === 60 ? null : at })).json() as { id: number }).id)
      }
      const seen: unknown[] = []
      let path = `stamped/?id__in=${made.join(',')}&ordering=${ordering}&limit=1&after=`
      while (path !== '' && seen.length < 10) {
        const offset = seen.length % 2 === 0 ? '+00:00' : '+01:00'
        if (isMariadb) await world.sql(`SET time_zone = '${offset}'`)
        if (isPostgres) await world.sql(`SET TIME ZONE '${offset}'`)
        const page = (await get(path)).json() as { meta: { next: string | null }; objects: { id: number }[] }
        seen.push(...page.objects.map(({ id }) => id))
        path = page.meta.next?.replace('/api/', '') ?? ''
      }
      expect(seen).toHaveLength(made.length)
      expect(seen.toSorted()).toEqual(made.toSorted())
      if (isMariadb) await world.sql(`SET time_zone = '+00:00'`)
      if (isPostgres) await world.sql('SET TIME ZONE UTC')
    },
  )
})

/** Ignores the error of a server that does not know the value of a setting, such as a locale that is not installed. */
function unlessUnknown(error: Error & { readonly code?: string }): undefined {
  // invalid_parameter_value
  if (error.code !== '22023') throw error
}

/** Runs tests in sessions with a setting whose value the server may not know, such as a locale that is not installed. */
async function withSetting(
  entity: EntitySchema,
  options: string,
  test: (world: World) => Promise<void>,
): Promise<void> {
  const opening = openWorld({
    entities: [entity],
    mount: { resources: [{ entity, auth: permitAll }] },
    ...(isPostgres && { source: { extra: { options } } }),
  })
  const world = await opening.catch(unlessUnknown)
  if (world === undefined) return
  await test(world)
  await world.close()
  expect(world.faults).toEqual([])
}

if (isPostgres)
  test.each(['C', 'de_DE.UTF-8', 'en_US.UTF-8'])(
    'money is shown as a decimal number with lc_monetary = %s',
    async (locale) => {
      const Ware = new EntitySchema<{ id: number }>({
        name: 'ware',
        columns: {
          id: { type: Number, primary: true, generated: true },
          price: { type: 'money' },
          prices: { type: 'money', array: true },
        } as never,
      })
      await withSetting(Ware, `-c lc_monetary=${locale}`, async (world) => {
        const { get, ids, post, put } = apiOf(() => world.url)
        const record = { price: '1234.50', prices: ['-0.05', null] }
        const made = await post('ware', record)
        expect([made.status, made.json()]).toEqual([201, { id: 1, ...record }])
        expect((await put('ware/1', made.json())).json()).toEqual({ id: 1, ...record })
        await post('ware', { price: '1234.51', prices: [] })
        const queries = [
          'price=1234.50',
          'price__in=1234.50,7',
          'price__lt=1234.51',
          'price__lte=1234.50',
          'price__gt=1234',
        ]
        const found = await Promise.all(queries.map((query) => ids(`ware?${query}&ordering=id`)))
        expect(found).toEqual([[1], [1], [1], [1], [1, 2]])
        const first = (await get('ware?ordering=price&limit=1&after=')).json() as { meta: { next: string } }
        expect(await ids(first.meta.next.replace('/api/', ''))).toEqual([2])
      })
    },
  )

if (isPostgres)
  test.each(['on', 'off'])('nulls in arrays are nulls with array_nulls = %s', async (setting) => {
    const Tagged = new EntitySchema<{ id: number }>({
      name: 'tagged',
      columns: {
        id: { type: Number, primary: true, generated: true },
        tags: { type: 'text', array: true },
        counts: { type: 'int', array: true },
      } as never,
    })
    await withSetting(Tagged, `-c array_nulls=${setting}`, async (world) => {
      const { post } = apiOf(() => world.url)
      const record = { tags: ['a', null, 'NULL'], counts: [1, null] }
      const made = await post('tagged', record)
      expect([made.status, made.json()]).toEqual([201, { id: 1, ...record }])
    })
  })

if (isPostgres)
  test.each(['C', 'de_DE.UTF-8'])('errors are recognized with lc_messages = %s', async (locale) => {
    const secret = 'unit-of-measure'
    const Item = new EntitySchema<{ id: number; size: number }>({
      name: 'item',
      columns: {
        id: { type: Number, primary: true, generated: true },
        count: { type: 'int', default: 1 },
        unit: { type: 'text', nullable: true, select: false },
        size: { type: 'int', virtualProperty: true, query: (alias: string) => `SELECT ${alias}.unit::int` },
      } as never,
    })
    const opening = openWorld({
      entities: [Item],
      mount: { resources: [{ entity: Item, auth: permitAll, exclude: ['unit'] }] },
      source: { poolSize: 2, extra: { options: `-c lc_messages=${locale}` } } as object,
    })
    const world = await opening.catch(unlessUnknown)
    if (world === undefined) return
    const { get, post } = apiOf(() => world.url)
    await post('item', {})
    const statuses = async (): Promise<readonly number[]> => {
      const replies = []
      for (let round = 0; round < 5; round++) replies.push(await get('item/'), await get('item/1/'))
      return replies.map(({ status }) => status)
    }
    expect(await statuses()).toEqual(Array(10).fill(200))
    // As in a migration of another process.
    await world.sql('ALTER TABLE "item" ALTER COLUMN "count" TYPE bigint')
    expect(await statuses()).toEqual(Array(10).fill(200))
    await world.sql(`UPDATE "item" SET "unit" = '${secret}'`)
    expect((await get('item/1/')).status).toBe(500)
    await world.close()
    expect(world.faults).toHaveLength(1)
    expect(String(world.faults[0])).not.toContain(secret)
  })

if (isMariadb)
  test.each(['en_US', 'de_DE', 'ja_JP'])(
    'a cascade that is too deep gets 409 with lc_messages = %s',
    async (locale) => {
      const Level = new EntitySchema<{ id: number; up: object | null }>({
        name: 'level',
        columns: { id: { type: Number, primary: true } },
        relations: { up: { type: 'many-to-one', target: 'level', nullable: true, onDelete: 'CASCADE' } },
      })
      const world = await openWorld({
        entities: [Level],
        mount: { resources: [{ entity: Level, auth: permitAll }] },
        source: { poolSize: 1 } as object,
      })
      await world.sql(`SET lc_messages = '${locale}'`)
      for (let id = 1; id <= 20; id++) {
        await world.dataSource.getRepository(Level).insert({ id, up: id === 1 ? null : { id: id - 1 } })
      }
      const reply = await send(world.url, 'DELETE /api/level/1/')
      await world.close()
      expect([reply.status, world.faults]).toEqual([409, []])
    },
  )

const Section = new EntitySchema<{ id: number }>({
  name: 'section',
  columns: { id: { type: Number, primary: true, generated: true } },
})
const Page = new EntitySchema<{ id: number; section: object }>({
  name: 'page',
  columns: { id: { type: Number, primary: true, generated: true } },
  relations: { section: { type: 'many-to-one', target: 'section', joinColumn: true, nullable: false } },
})

// Only PostgreSQL has this setting.
describe('sessions that apply changes of a replica', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Section, Page],
      mount: {
        resources: [
          { entity: Section, auth: permitAll },
          { entity: Page, auth: permitAll },
        ],
      },
      ...(isPostgres && { source: { extra: { options: '-c session_replication_role=replica' } } }),
    })
  })
  afterAll(() => world.close())
  const { post } = apiOf(() => world.url)

  test('check foreign keys', async () => {
    await post('section', {})
    expect((await post('page', { section_id: 1 })).status).toBe(201)
    expect((await post('page', { section_id: 2 })).status).toBe(400)
    expect((await send(world.url, 'DELETE /api/section/1/')).status).toBe(409)
  })
})
