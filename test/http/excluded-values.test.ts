import {
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { type Principal, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * A record with values that the row scope or `may` excludes is 403, whether another record has the same unique values or not:
 * a 409 would reveal records of other teams (specification: Row scopes, Permissions).
 */

const auth: Rule = () => ({ id: 'ann', team: 1 }) as Principal
const teamOf = (principal: Principal): number => (principal as Principal & { readonly team: number }).team

@Entity()
@Resource({ auth, bulk: true, scope: (me) => ({ team: teamOf(me) }), nested: ['parts'] })
@Unique(['team', 'code'])
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
  @OneToMany(
    () => Part,
    ({ item }) => item,
  )
  parts!: Relation<Part>[]
}

@Entity()
@Resource({ auth, bulk: true, scope: (me) => [{ team__in: [teamOf(me), 9] }, { and: [{ team: 8 }, { team__ne: 8 }] }] })
@Unique(['team', 'code'])
class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
  @ManyToOne(
    () => Item,
    ({ parts }) => parts,
    { nullable: true },
  )
  item!: Relation<Item> | null
}

/** Its key contains the team. */
@Entity()
@Resource({ auth, scope: (me) => ({ team: teamOf(me) }) })
class Member {
  @PrimaryColumn() team!: number
  @PrimaryColumn({ length: 10 }) code!: string
}

@Entity()
@Resource({
  auth,
  bulk: true,
  may: {
    create: (me) => ({ team: teamOf(me) }),
    update: (me) => ({ before: true, after: { not: { team__in: [2, 3] }, team__lt: teamOf(me) + 100 } }),
  },
})
@Unique(['team', 'code'])
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
}

/** Its scope compares with other operators. */
@Entity()
@Resource({
  auth,
  bulk: true,
  scope: () => ({
    status__ne: 'private',
    rank__lte: 2,
    size__gt: 0,
    on__is: 'true',
    day__gte: '2024-01-01',
    note__is: 'not_null',
  }),
})
@Unique(['status', 'rank', 'size', 'on', 'day', 'code'])
class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10, default: 'public' }) status!: string
  @Column('bigint', { default: 1 }) rank!: string
  @Column({ type: isMariadb ? 'double' : 'double precision', default: 1.5 }) size!: number
  @Column({ default: true }) on!: boolean
  @Column('date', { default: '2024-01-01' }) day!: string
  @Column({ type: 'varchar', length: 10, nullable: true, default: 'a' }) note!: string | null
  @Column({ length: 10 }) code!: string
}

/** MariaDB rounds its values. */
@Entity()
@Resource({ auth, scope: () => ({ kilos__lte: 1 }) })
class Weight {
  @PrimaryGeneratedColumn() id!: number
  @Column(isMariadb ? { type: 'double', precision: 10, scale: 2 } : { type: 'double precision' }) kilos!: number
}

/** Its scope compares values that the database and JavaScript may compare differently. Only its code is unique. */
@Entity()
@Resource({
  auth,
  scope: () => ({
    kind__ne: 'private',
    size__lt: 3,
    rank__lte: '9007199254740992',
    level__gte: 2,
    title__lt: 'B',
    at: '2024-01-01T00:00:00Z',
  }),
})
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 10, nullable: true, default: 'text' }) kind!: string | null
  @Column({ type: 'integer', nullable: true, default: 1 }) size!: number | null
  @Column('bigint', { default: 1 }) rank!: string
  /** It is stored as a negative number, so that the database compares it in the opposite order. */
  @Column({ type: 'integer', default: -2, transformer: { to: negate, from: negate } }) level!: number
  @Column({ length: 10, default: 'A' }) title!: string
  @Column(types.instant) at!: Date
  @Column({ length: 10, unique: true }) code!: string
}
function negate(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value
}

const excludedPages: readonly Partial<Page>[] = [{ kind: null }, { size: null }, { rank: '9007199254740993' }]
/** A date-time is equal to each time in its second. MariaDB orders texts without regard to case. */
const permittedPages: readonly object[] = [
  { level: 1 },
  { at: '2024-01-01T00:00:00.5Z' },
  ...(isMariadb ? [{ title: 'a' }] : []),
]

const excluded: readonly Partial<Sheet>[] = [
  { status: 'private' },
  { rank: '9007199254740993' },
  { rank: '3' },
  { size: 0 },
  { size: -0.5 },
  { on: false },
  { day: '2023-12-31' },
]
/** The rank in a body: a number if a double can represent it. */
const toBody = (sheet: Partial<Sheet>): object => ({ ...sheet, ...(sheet.rank === '3' && { rank: 3 }) })

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Item, Part, Member, Draft, Sheet, Weight, Page],
    columnOrder: 0,
    mount: { batch: true },
    seed: async ({ manager }) => {
      for (const entity of [Item, Part, Draft]) {
        await manager.insert(entity, { team: 1, code: 'own' })
        await manager.insert(entity, { team: 2, code: 'taken' })
      }
      for (const sheet of excluded) await manager.insert(Sheet, { ...sheet, code: 'taken' })
      await manager.insert(Sheet, { code: 'own' })
      await manager.insert(Member, { team: 2, code: 'taken' })
      await manager.insert(Page, { kind: 'private', at: new Date(0), code: 'taken' })
    },
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

const request = (line: string, body: unknown, headers = {}): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers })

type Case = readonly [title: string, line: string, body: (code: string) => unknown, headers?: Record<string, string>]

const cases: readonly Case[] = [
  ['a POST', 'POST item/', (code) => ({ team: 2, code })],
  ['an array', 'POST item/', (code) => [{ code: 'new' }, { team: 2, code }]],
  ['an array with a conflict of its own', 'POST item/', (code) => [{ code: 'own' }, { team: 2, code }]],
  ['a file', 'POST item/', (code) => `team,code\n2,${code}\n`, { 'Content-Type': 'text/csv' }],
  ['an upsert', 'POST item/?on_conflict=team,code', (code) => ({ team: 2, code })],
  ['upserts', 'POST item/?on_conflict=team,code', (code) => [{ team: 2, code }]],
  ['a PATCH', 'PATCH item/1/', (code) => ({ team: 2, code })],
  ['a PATCH of records', 'PATCH item/?id=1', (code) => ({ team: 2, code })],
  ['a batch', 'POST -/batch', (code) => [{ method: 'POST', path: '/api/item/', body: { team: 2, code } }]],
  ['a nested write', 'POST item/', (code) => ({ code: 'new', parts: [{ team: 2, code }] })],
  ['a nested write of its parent', 'PATCH item/1/', (code) => ({ team: 2, code, parts: [] })],
  ['alternatives', 'POST part/', (code) => ({ team: 2, code })],
  ['a key', 'POST member/', (code) => ({ team: 2, code })],
  ['may.create', 'POST draft/', (code) => ({ team: 2, code })],
  ['may.update', 'PATCH draft/1/', (code) => ({ team: 2, code })],
]

test.each(cases.map(([title, line, body, headers = {}]) => ({ title, line, body, headers })))(
  '$title',
  async ({ line, body, headers }) => {
    const [free, taken] = [await request(line, body('free'), headers), await request(line, body('taken'), headers)]
    expect(free.status).toBe(403)
    expect([taken.status, taken.text]).toEqual([free.status, free.text])
  },
)

test.each(excluded.map((sheet) => ({ ...sheet })))('other operators: %j', async (sheet) => {
  const requests = (code: string): Promise<readonly Reply[]> =>
    Promise.all([
      request('POST sheet/', { ...toBody(sheet), code }),
      request('POST sheet/', [{ code: 'new' }, { ...toBody(sheet), code }]),
      request('PATCH sheet/?code=own', { ...toBody(sheet), code }),
    ])
  const [free, taken] = [await requests('free'), await requests('taken')]
  expect(free.map(({ status }) => status)).toEqual([403, 403, 403])
  expect(taken.map(({ text }) => text)).toEqual(free.map(({ text }) => text))
})

test('other operators permit values in scope', async () => {
  const sheet = { status: 'open', rank: 2, size: 0.5, on: true, day: '2024-01-01', note: 'b' }
  const replies = [
    await request('POST sheet/', { ...sheet, code: 'mine' }),
    await request('POST sheet/', { ...sheet, code: 'mine' }),
    await request('POST sheet/', { ...sheet, note: null, code: 'c' }),
  ]
  expect(replies.map(({ status }) => status)).toEqual([201, 409, 403])
})

test.each(excludedPages.map((page) => ({ ...page })))('null and long integers as in the database: %j', async (page) => {
  const post = (code: string): Promise<Reply> => request('POST page/', { at: '2024-01-01T00:00:00Z', ...page, code })
  const [free, taken] = [await post('free'), await post('taken')]
  expect([free.status, taken.status]).toEqual([403, 403])
  expect(taken.text).toBe(free.text)
})

test.each(permittedPages.map((page, index) => ({ page, index })))(
  'values that the database compares differently are permitted: $page',
  async ({ page, index }) => {
    const post = (code: string): Promise<Reply> => request('POST page/', { at: '2024-01-01T00:00:00Z', ...page, code })
    expect([(await post(`mine ${index}`)).status, (await post('taken')).status]).toEqual([201, 409])
  },
)

test('a number that the column rounds is compared by the database', async () => {
  const replies = [await request('POST weight/', { kilos: 1.004 }), await request('POST weight/', { kilos: 1.006 })]
  expect(replies.map(({ status }) => status)).toEqual(isMariadb ? [201, 403] : [403, 403])
})

test('the path of a new record', async () => {
  const put = (code: string): Promise<Reply> => request(`PUT member/2,${code}/`, {}, { 'If-None-Match': '*' })
  const [free, taken] = [await put('free'), await put('taken')]
  expect([free.status, taken.status]).toEqual([403, 403])
  expect(taken.text).toBe(free.text)
})

test('values that are not excluded', async () => {
  const written = [
    await request('POST item/', { team: 1, code: 'a', parts: [{ team: 9, code: 'a' }] }),
    await request('PATCH item/1/', { team: 1, code: 'b' }),
    await request('POST part/', { team: 1, code: 'a' }),
    await request('PATCH draft/1/', { team: 4, code: 'a' }),
    await request('POST item/', { team: 1, code: 'a' }),
  ]
  expect(written.map(({ status }) => status)).toEqual([201, 200, 201, 200, 409])
})
