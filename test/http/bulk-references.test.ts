import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Foreign keys of many records to a resource with a row scope: they are looked up by a few statements, however many records there
 * are (specification: Bulk writes).
 */

const ofFirm = { auth: permitAll, scope: () => ({ firm: 1 }) }

@Entity()
@Resource(ofFirm)
class Client {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') firm!: number
  @DeleteDateColumn() deleted!: Date | null
}

/** Its key has two columns. */
@Entity()
@Resource(ofFirm)
class Seat {
  @PrimaryColumn({ length: 10 }) row!: string
  @PrimaryColumn('int') number!: number
  @Column('int') firm!: number
}

/** Records refer to the amount. */
@Entity()
@Resource(ofFirm)
class Price {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 8, scale: 2, unique: true }) amount!: string
  @Column('int') firm!: number
}

/** Values of this type that the database cannot compare with a stored one. */
const code = isPostgres
  ? ({ type: 'interval' } as const)
  : ({ type: 'varchar', length: 20, ...(isMariadb && { charset: 'utf8mb3' }) } as const)

@Entity()
@Resource(ofFirm)
class Plan {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...code, unique: true }) code!: string
  @Column('int') firm!: number
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Job {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') number!: number
  @ManyToOne(() => Client, { nullable: true }) client!: Relation<Client> | null
  @ManyToOne(() => Client, { nullable: true }) payer!: Relation<Client> | null
  @ManyToOne(() => Seat, { nullable: true })
  @JoinColumn([
    { name: 'seatRow', referencedColumnName: 'row' },
    { name: 'seatNumber', referencedColumnName: 'number' },
  ])
  seat!: Relation<Seat> | null
  @ManyToOne(() => Plan, { nullable: true })
  @JoinColumn({ referencedColumnName: 'code' })
  plan!: Relation<Plan> | null
  @ManyToOne(() => Price, { nullable: true })
  @JoinColumn({ referencedColumnName: 'amount' })
  price!: Relation<Price> | null
  @ManyToOne(
    () => Batch,
    ({ jobs }) => jobs,
    { nullable: true },
  )
  batch!: Relation<Batch> | null
}

/** Contains its jobs. */
@Entity()
@Resource({ auth: permitAll, nested: ['jobs'] })
class Batch {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10 }) name!: string
  @OneToMany(
    () => Job,
    ({ batch }) => batch,
  )
  jobs!: Relation<Job>[]
}

/** Clients that the principal may see: 1 to 30. The others are of another firm, deleted (32), or missing (from 33). */
const visible = Array.from({ length: 30 }, (_, index) => index + 1)
/** A code that exists, for each number. */
const codeOf = (number: number): string => (isPostgres ? `01:${String(number).padStart(2, '0')}:00` : `c${number}`)
const unreadable = isPostgres ? 'PYMD' : 'x😀'

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Client, Seat, Plan, Price, Job, Batch],
    seed: async (dataSource) => {
      const insert = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
        dataSource.getRepository<object>(entity).insert([...rows])
      await insert(Client, [...visible.map(() => ({ firm: 1 })), { firm: 2 }, { firm: 1, deleted: new Date() }])
      await insert(
        Seat,
        visible.map((number) => ({ row: 'a', number, firm: number === 30 ? 2 : 1 })),
      )
      await insert(
        Price,
        visible.map((number) => ({ amount: `${number}.50`, firm: 1 })),
      )
      await insert(
        Plan,
        visible.map((number) => ({ code: codeOf(number), firm: 1 })),
      )
    },
  })
})
beforeEach(() => world.sql('DELETE FROM "job"'))
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

interface Sent {
  readonly reply: Reply
  /** Number of statements that have looked up records of each table. */
  readonly lookups: Readonly<Record<string, number>>
  readonly savepoints: number
}

async function sendCounted(line: string, body: unknown, headers: Record<string, string> = {}): Promise<Sent> {
  world.statements()
  const reply = await send(world.url, `POST /api/${line}`, { body, headers })
  const statements = world.statements()
  const lookups: Record<string, number> = {}
  for (const sql of statements) {
    const table = /^\s*(?:\/\*.*?\*\/\s*)?SELECT.*? FROM (?:["`]\w+["`]\.)?["`](\w+)["`]/s.exec(sql)?.[1]
    if (table !== undefined && table !== 'job') lookups[table] = (lookups[table] ?? 0) + 1
  }
  return { reply, lookups, savepoints: statements.filter((sql) => sql.startsWith('SAVEPOINT')).length }
}

const jobs = (count: number, fieldsOf: (index: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({ number: index, ...fieldsOf(index) }))

const errorsOf = (reply: Reply): unknown => [
  reply.status,
  (reply.json() as { errors?: readonly { index: number; field: string; message: string }[] }).errors?.map(
    ({ index, field, message }) => `${index} ${field} ${message}`,
  ),
]

/** Each foreign key is looked up before the write and after it. */
const twice = (...tables: readonly string[]): unknown => Object.fromEntries(tables.map((table) => [table, 2]))
/** The INSERT of several records has a savepoint on all databases. */
const savepointsOf = (lookups: number): number => (isPostgres ? lookups : 0) + 1

describe('an array whose records refer to records in the row scope', () => {
  test.each([
    ['the same record', () => ({ client_id: 2 }), twice('client')],
    ['different records', (index: number) => ({ client_id: visible[index % 30] }), twice('client')],
    ['records of two relations', (index: number) => ({ client_id: 2, payer_id: (index % 30) + 1 }), { client: 4 }],
    ['the same record, by a key of two columns', () => ({ seat_id: 'a,3' }), twice('seat')],
    [
      'different records, by a key of two columns',
      (index: number) => ({ seat_id: `a,${(index % 29) + 1}` }),
      twice('seat'),
    ],
    ['the same record, by a unique column', () => ({ plan_id: codeOf(3) }), twice('plan')],
    [
      'different records, by a unique column',
      (index: number) => ({ plan_id: codeOf((index % 30) + 1) }),
      twice('plan'),
    ],
    ['different records, by a decimal', (index: number) => ({ price_id: `${(index % 30) + 1}.50` }), twice('price')],
  ])('%s: few statements', async (_title, fieldsOf, expected) => {
    const { reply, lookups, savepoints } = await sendCounted('job/', jobs(100, fieldsOf))
    expect([reply.status, lookups]).toEqual([201, expected])
    expect(savepoints).toBe(savepointsOf(Object.values(lookups).reduce((sum, count) => sum + count)))
    expect((reply.json() as { objects: readonly object[] }).objects).toMatchObject(jobs(100, fieldsOf))
  })

  test('an import: few statements for each group of 200 records', async () => {
    const lines = jobs(300, () => ({ client_id: 2 })).map((job) => JSON.stringify(job))
    const headers = { 'Content-Type': 'application/x-ndjson' }
    const { reply, lookups } = await sendCounted('job/', lines.join('\n'), headers)
    expect([reply.status, lookups]).toEqual([201, { client: 4 }])
  })

  test('a record with a list of new records: few statements', async () => {
    const body = { name: 'a', jobs: jobs(40, () => ({ client_id: 2 })) }
    const { reply, lookups } = await sendCounted('batch/', body)
    expect([reply.status, lookups['client']]).toEqual([201, 2])
  })
})

describe('an array with wrong references', () => {
  const missing = [31, 32, 33, 99]

  test('each record has its own errors, and each key is looked up once more', async () => {
    const bodies = jobs(40, (index) => ({ client_id: index % 4 === 3 ? missing[(index >> 2) % 4] : 2, payer_id: 99 }))
    const { reply, lookups } = await sendCounted('job/', bodies)
    const expected = bodies.flatMap((_, index) => [
      ...(index % 4 === 3 ? [`${index} client_id points to no client`] : []),
      `${index} payer_id points to no client`,
    ])
    expect(errorsOf(reply)).toEqual([400, expected.slice(0, 20)])
    expect(lookups['client']).toBeLessThanOrEqual(2 + missing.length)
    expect(await world.sql('SELECT * FROM "job"')).toEqual([])
  })

  test.each([
    ['one key', () => 99, 1],
    ['a key out of scope', () => 31, 1],
    ['a deleted record', () => 32, 1],
    ['many keys', (index: number) => 100 + index, 21],
  ])('%s: the statements do not depend on the number of records', async (_title, keyOf, maxLookups) => {
    const { reply, lookups } = await sendCounted(
      'job/',
      jobs(100, (index) => ({ client_id: keyOf(index) })),
    )
    const expected = Array.from({ length: 20 }, (_, index) => `${index} client_id points to no client`)
    expect(errorsOf(reply)).toEqual([400, expected])
    expect(lookups['client']).toBeLessThanOrEqual(maxLookups)
  })

  test('a key of two columns out of scope', async () => {
    const bodies = jobs(50, (index) => ({ seat_id: index % 10 === 9 ? 'a,30' : `a,${(index % 29) + 1}` }))
    const { reply, lookups } = await sendCounted('job/', bodies)
    const expected = [9, 19, 29, 39, 49].map((index) => `${index} seat_id points to no seat`)
    expect([errorsOf(reply), lookups]).toEqual([[400, expected], { seat: 2 }])
  })

  test('a value that the database cannot compare with the keys', async () => {
    const bodies = jobs(100, (index) => ({ plan_id: index === 70 ? unreadable : codeOf((index % 30) + 1) }))
    const { reply, lookups } = await sendCounted('job/', bodies)
    expect(errorsOf(reply)).toEqual([400, ['70 plan_id points to no plan']])
    expect(lookups['plan']).toBeLessThan(22)
    const same = await sendCounted(
      'job/',
      jobs(100, () => ({ plan_id: unreadable })),
    )
    const expected = Array.from({ length: 20 }, (_, index) => `${index} plan_id points to no plan`)
    expect([errorsOf(same.reply), same.lookups]).toEqual([[400, expected], { plan: 1 }])
  })
})
