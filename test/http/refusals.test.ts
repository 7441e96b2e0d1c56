import { Column, Entity, Index, JoinColumn, ManyToOne, OneToOne, PrimaryGeneratedColumn, Unique } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Parent {
  @PrimaryGeneratedColumn() id!: number
}

/** Has a table with stricter constraints than the entity declares. */
@Entity()
@Unique(['first', 'second'])
@Index(['third', 'mail'], { unique: true })
@Resource({ auth: permitAllAsUser1, exclude: ['hidden'], bulk: true })
class Strict {
  @PrimaryGeneratedColumn() id!: number
  @Column({ name: 'a_code', length: 10, nullable: true, unique: true, type: 'varchar' }) code!: string | null
  @Column({ nullable: true, type: 'int' }) first!: number | null
  @Column({ nullable: true, type: 'int' }) second!: number | null
  @Column({ nullable: true, type: 'int' }) third!: number | null
  @Column({ nullable: true, type: 'varchar', length: 20 }) mail!: string | null
  @Column({ nullable: true, type: 'varchar', length: 20, unique: true }) hidden!: string | null
  @Column({ nullable: true, type: 'varchar', length: 50 }) short!: string | null
  @Column({ nullable: true, type: 'int' }) small!: number | null
  @Column({ nullable: true, type: 'decimal', precision: 10, scale: 2 }) price!: string | null
  @Column({ nullable: true, type: 'varchar', default: 'x' }) needed!: string | null
  @Column({ nullable: true, type: 'int' }) stars!: number | null
  @ManyToOne(() => Parent, { nullable: true }) parent!: Parent | null
  @OneToOne(() => Parent, { nullable: true }) @JoinColumn() only!: Parent | null
}

/** SQL that makes the table stricter than the entity; SQLite checks neither lengths nor ranges. */
const stricter = isPostgres
  ? [
      'ALTER TABLE "strict" ALTER COLUMN "short" TYPE varchar(5)',
      'ALTER TABLE "strict" ALTER COLUMN "small" TYPE smallint',
      'ALTER TABLE "strict" ALTER COLUMN "price" TYPE numeric(4,2)',
      'ALTER TABLE "strict" ALTER COLUMN "needed" SET NOT NULL',
      'ALTER TABLE "strict" ADD CONSTRAINT "starred" CHECK ("stars" BETWEEN 1 AND 5)',
    ]
  : isMariadb
    ? [
        'ALTER TABLE "strict" MODIFY "short" varchar(5)',
        'ALTER TABLE "strict" MODIFY "small" smallint',
        'ALTER TABLE "strict" MODIFY "price" decimal(4,2)',
        `ALTER TABLE "strict" MODIFY "needed" varchar(255) NOT NULL DEFAULT 'x'`,
        'ALTER TABLE "strict" ADD CONSTRAINT "starred" CHECK ("stars" BETWEEN 1 AND 5)',
      ]
    : []

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Parent, Strict] })
  for (const sql of stricter) await world.sql(sql)
  await post('parent', {})
  await post('parent', {})
  const first = { code: 'A', first: 1, second: 2, third: 3, mail: 'x', hidden: 'canary', only_id: 1, parent_id: 2 }
  expect((await post('strict', first)).status).toBe(201)
  expect((await post('strict', { code: 'B' })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, put } = apiOf(() => world.url)

const everywhere: readonly Case[] = [
  [{ code: 'A' }, 409, ['code']],
  [{ first: 1, second: 2 }, 409, ['first', 'second']],
  [{ third: 3, mail: 'x' }, 409, ['third', 'mail']],
  [{ hidden: 'canary' }, 409, []],
  [{ only_id: 1 }, 409, ['only_id']],
  [{ only_id: 9 }, 400, ['only_id']],
  [{ parent_id: 9, code: 'A' }, 400, ['parent_id']],
]
const onServers: readonly Case[] = [
  [{ short: 'longer' }, 400, ['short']],
  [{ small: 40_000, first: 8 }, 400, ['small']],
  [{ price: '100.50', first: 8 }, 400, ['price']],
  [{ needed: null }, 400, ['needed']],
]
// TypeORM does not know this CHECK, and MariaDB and PostgreSQL report only the name of the constraint.
const unnamed: readonly Case[] = [[{ stars: 9 }, 400, []]]

type Case = readonly [body: object, status: number, fields: readonly string[]]

describe.each([...everywhere, ...(isSqlite ? [] : [...onServers, ...unnamed])])('%j', (body, status, fields) => {
  test.each([
    ['POST', () => post('strict', body)],
    ['PUT', () => put('strict/2', body)],
  ])(`%s is ${status} and names ${fields.join(' and ') || 'no field'}`, async (_, request) => {
    const reply = await request()
    const { errors = [] } = reply.json() as { errors?: readonly { field: string }[] }
    expect([reply.status, errors.map(({ field }) => field)]).toEqual([status, fields])
    expect(reply.text).not.toMatch(/canary|constraint "|UQ_|varchar|a_code|SQL/)
  })
})

test('the error about one of several records says that only the combination of its values is taken', async () => {
  const reply = await post('strict', [{ code: 'C' }, { first: 1, second: 2 }])
  expect(reply.json()).toMatchObject({
    status: 409,
    errors: [
      { index: 1, field: 'first', message: 'is taken by another strict with the same second' },
      { index: 1, field: 'second', message: 'is taken by another strict with the same first' },
    ],
  })
})

test('a record that others refer to cannot be deleted', async () => {
  expect((await send(world.url, 'DELETE /api/parent/2/')).json()).toMatchObject({
    status: 409,
    detail: 'this parent cannot be deleted: other records refer to it',
  })
})
