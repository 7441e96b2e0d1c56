import {
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  VersionColumn,
  VirtualColumn,
} from 'typeorm'
import { adminRule, Resource, UserAccount } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres, isSqlite, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** SQL that fails if `n` is 0. */
const failing = (alias: string): string => {
  if (isPostgres) return `100 / ${alias}.n`
  return isMariadb ? `${alias}.n - 1` : `abs(-9223372036854775807 - (${alias}.n = 0))`
}

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Risky {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', ...(isMariadb && { unsigned: true }) }) n!: number
  @VirtualColumn({ type: 'bigint', query: failing }) share!: number
}

/** The same as `Risky`, with a key of another type. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class RiskyText {
  @PrimaryColumn({ type: 'varchar', length: 20 }) id!: string
  @Column({ type: 'int', ...(isMariadb && { unsigned: true }) }) n!: number
  @VirtualColumn({ type: 'bigint', query: failing }) share!: number
}

/** Every thousandth read of the column fails with a serialization failure, which is retried; SQLite has none. */
@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['secret'] })
class Retried {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true }) title!: string
  @Column({ type: 'varchar', nullable: true }) secret!: string | null
  @VersionColumn() version!: number
  @VirtualColumn({ type: 'int', query: () => (isSqlite ? '1' : 'once()') }) once!: number
}

/** SQL that counts the pieces of a writer with its own alias. */
const countPieces =
  (inner: string) =>
  (alias: string): string =>
    sqlOf(`SELECT COUNT(*) FROM "piece" ${inner} WHERE ${inner}."writerId" = ${alias}."id"`)

/** Has virtual columns with short aliases, as in applications. */
@Entity()
@UserAccount({ admin: 'editor', hash: (password) => password, verify: (password, hash) => password === hash })
@Resource({ auth: permitAllAsUser1, exclude: ['password'] })
class Writer {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @OneToMany(
    () => Piece,
    (piece) => piece.writer,
  )
  pieces!: Piece[]
  @VirtualColumn({ type: 'int', query: countPieces('t0') }) t0!: number
  @VirtualColumn({ type: 'int', query: countPieces('t1') }) t1!: number
  @VirtualColumn({ type: 'int', query: countPieces('t1_of') }) start!: number
  @VirtualColumn({
    type: 'boolean',
    query: (alias) => sqlOf(`SELECT COUNT(*) > 1 FROM "piece" u WHERE u."writerId" = ${alias}."id"`),
  })
  editor!: boolean
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Piece {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Writer,
    (writer) => writer.pieces,
  )
  writer!: Relation<Writer>
  @VirtualColumn({
    type: 'int',
    query: (alias) => sqlOf(`SELECT COUNT(*) FROM "piece" t1 WHERE t1."id" < ${alias}."id"`),
  })
  before!: number
}

@Entity()
@Resource({ auth: adminRule() })
class Desk {
  @PrimaryGeneratedColumn() id!: number
}

const setUp = isPostgres
  ? [
      'CREATE SEQUENCE reads',
      `CREATE FUNCTION once() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('reads') % 1000 = 0 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
        RETURN 1; END $$`,
    ]
  : isMariadb
    ? [
        'CREATE SEQUENCE reads_seq NOCACHE',
        `CREATE FUNCTION once() RETURNS INT NOT DETERMINISTIC BEGIN
        IF NEXT VALUE FOR reads_seq % 1000 = 0 THEN
          SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'again';
        END IF;
        RETURN 1; END`,
      ]
    : []

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Risky, RiskyText, Retried, Writer, Piece, Desk],
    seed: async (dataSource) => {
      for (const sql of setUp) await dataSource.query(sql)
      for (const username of ['ann', 'bob', 'eve']) {
        await dataSource.getRepository(Writer).insert({ username, password: username })
      }
      for (const id of [1, 2, 2, 2]) await dataSource.getRepository(Piece).insert({ writer: { id } })
    },
  })
})
afterAll(() => world.close())

const { get, ids, post, put } = apiOf(() => world.url)

/** Lets a read fail after a number of successful ones. */
async function failAfter(reads: number): Promise<void> {
  const last = 999 - reads
  if (isPostgres) await world.sql(`SELECT setval('reads', ${last})`)
  if (isMariadb) await world.sql(`SELECT SETVAL(reads_seq, ${last}, TRUE)`)
}

test('a POST is stored once if reading the record is retried', async () => {
  await failAfter(0)
  const made = await post('retried', { title: 'x' })
  expect([made.status, made.json()]).toMatchObject([201, { title: 'x', version: 1 }])
  expect(await world.sql('SELECT "title" FROM "retried"')).toEqual([{ title: 'x' }])
})

// How often a statement reads the column depends on the database.
test.each([1, 2, 3, 4])('a PUT is executed once if reading the record is retried: %d', async (reads) => {
  const { id } = (await post('retried', {})).json() as { id: number }
  await failAfter(reads)
  expect((await put(`retried/${id}`, { secret: 'x' })).json()).toMatchObject({ id, version: 2 })
})

test('a write whose record cannot be computed is a fault, and is not stored', async () => {
  expect((await post('risky', { n: 0 })).status).toBe(500)
  const { id } = (await post('risky', { n: 5 })).json() as { id: number }
  expect((await put(`risky/${id}`, { n: 0 })).status).toBe(500)
  expect(await world.sql('SELECT "id", "n" FROM "risky"')).toEqual([{ id, n: 5 }])
  expect(world.faults.length).toBe(2)
})

test.each(['risky/?id__gt=0', 'risky/?n=5'])(
  'a PATCH of several records that cannot be computed is not stored: %s',
  async (path) => {
    await world.sql('DELETE FROM "risky"')
    for (const n of [5, 6]) await post('risky', { n })
    const before = world.faults.length
    expect((await send(world.url, `PATCH /api/${path}`, { body: { n: 0 } })).status).toBe(500)
    expect(await world.sql('SELECT "n" FROM "risky" ORDER BY "n"')).toEqual([{ n: 5 }, { n: 6 }])
    expect(world.faults.length).toBe(before + 1)
    expect((await send(world.url, `PATCH /api/${path}`, { body: { n: 5 } })).status).toBe(200)
  },
)

test('a stored record that cannot be computed is a fault, and not a mistake of the request', async () => {
  await world.sql('INSERT INTO "risky" ("n") VALUES (0)')
  const [{ id } = { id: 0 }] = await world.sql('SELECT "id" FROM "risky" WHERE "n" = 0')
  const before = world.faults.length
  const requests = [
    'GET /api/risky/',
    'GET /api/risky/?n=0',
    'GET /api/risky/?n__in=0,5&ordering=-n',
    `GET /api/risky/${id}/`,
  ]
  for (const request of requests) expect((await send(world.url, request)).status).toBe(500)
  expect(world.faults.length).toBe(before + requests.length)
  expect(await ids('risky?n=5')).toHaveLength(1)
  expect((await get('risky/999999/')).status).toBe(404)
})

test('records that cannot be computed are faults for each resource, whatever their keys are', async () => {
  await world.sql('INSERT INTO "risky" ("n") VALUES (0)')
  const [{ id } = { id: 0 }] = await world.sql('SELECT "id" FROM "risky" WHERE "n" = 0')
  await world.sql(`INSERT INTO "risky_text" ("id", "n") VALUES ('x', 0)`)
  for (const path of [`risky/${id}`, 'riskytext/x', `risky/${id}`]) {
    expect([path, (await get(`${path}/`)).status]).toEqual([path, 500])
    expect([path, (await put(path, { n: 0 })).status]).toEqual([path, 500])
  }
})

test.each(['t0', 't1', 'start'])('the SQL of a virtual column can use any short alias: %s', async (count) => {
  const writers = (await get('writer/?ordering=id')).json() as { objects: Record<string, unknown>[] }
  expect(writers.objects.map((writer) => Number(writer[count]))).toEqual([1, 3, 0])
  expect((await get('writer/2/')).json()).toMatchObject({ [count]: 3 })
  expect(await ids(`writer?${count}__gte=1&ordering=-${count}`)).toEqual([2, 1])
  expect(await ids(`piece?writer__${count}__gte=3`)).toEqual([2, 3, 4])
  expect(await ids(`piece?ordering=-writer__${count},id`)).toEqual([2, 3, 4, 1])
  expect(await ids(`writer?pieces__writer__${count}=3&pieces__before__gte=3`)).toEqual([2])
  expect(await ids(`writer?not=(pieces__before__gte:1)&${count}=0`)).toEqual([3])
})

test('the SQL of a virtual column that is the admin flag of users can use any short alias', async () => {
  expect((await send(world.url, 'GET /api/desk/', { as: 'bob' })).status).toBe(200)
  expect((await send(world.url, 'GET /api/desk/', { as: 'ann' })).status).toBe(401)
  expect((await send(world.url, 'GET /api/desk/', { as: 'eve' })).status).toBe(401)
})
