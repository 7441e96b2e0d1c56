import { setTimeout } from 'node:timers/promises'
import {
  Column,
  type DataSource,
  Entity,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryGeneratedColumn,
  type QueryRunner,
} from 'typeorm'
import { lockSqlite, Resource, SqliteLockError } from 'typeorm-resources'
import { send } from '../client'
import { openDataSource, openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: () => ({ id: null }) })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() tag!: string
}

/** Awaits something in the middle of a transaction, as a call to another service does; refuses every third. */
@EventSubscriber()
class Slow {
  listenTo(): typeof Entry {
    return Entry
  }

  async afterInsert({ entity }: InsertEvent<Entry>): Promise<void> {
    await setTimeout(Number(entity.tag) % 4)
    if (Number(entity.tag) % 3 === 0) throw new Error(`${entity.tag} is refused`)
  }
}

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
})

async function open(sqliteLock: boolean): Promise<World> {
  const world = await openWorld({ entities: [Entry], source: { subscribers: [Slow] }, mount: { sqliteLock } })
  worlds.push(world)
  return world
}

/** What the application itself does meanwhile: transactions with an `await` in them, every other taken back. */
async function application({ dataSource }: World, rounds: number): Promise<readonly string[]> {
  const kept: string[] = []
  for (let round = 0; round < rounds; round++) {
    const tag = `${3000 + 3 * round + 1}`
    const done = dataSource.transaction(async (manager) => {
      await manager.insert(Entry, { tag })
      await setTimeout(2)
      if (round % 2 === 1) throw new Error('taken back')
    })
    await done.then(
      () => kept.push(tag),
      () => undefined,
    )
  }
  return kept
}

/** Which acknowledged records are gone, and which refused ones are there. */
async function compare(sqliteLock: boolean): Promise<{ lost: number; unwanted: number; acknowledged: number }> {
  const world = await open(sqliteLock)
  const running = application(world, 20)
  const replies = await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      await setTimeout((index * 7) % 100)
      const { status } = await send(world.url, 'POST /api/entry/', { body: { tag: String(index) } })
      return { tag: String(index), status }
    }),
  )
  const acknowledged = [
    ...replies.filter(({ status }) => status === 201).map(({ tag }) => tag),
    ...(await running.catch(() => [])),
  ]
  const refused = replies.filter(({ status }) => status !== 201).map(({ tag }) => tag)
  const stored = new Set((await world.dataSource.getRepository(Entry).find()).map(({ tag }) => tag))
  return {
    lost: acknowledged.filter((tag) => !stored.has(tag)).length,
    unwanted: refused.filter((tag) => stored.has(tag)).length,
    acknowledged: acknowledged.length,
  }
}

test('nothing that is acknowledged is lost, nothing that is refused is stored', async () => {
  expect(await compare(true)).toEqual({ lost: 0, unwanted: 0, acknowledged: 80 + 10 })
})

test('without the lock it is: the test would notice', async () => {
  const { lost, unwanted, acknowledged } = await compare(false)
  expect(lost + unwanted + (90 - acknowledged)).toBeGreaterThan(0)
})

test('what runs outside of transactions sees nothing that is taken back', async () => {
  const { dataSource } = await open(true)
  const seen = new Set<number>()
  const transaction = dataSource.transaction(async (manager) => {
    await manager.insert(Entry, { tag: '1' })
    await setTimeout(20)
    throw new Error('taken back')
  })
  const reads = Array.from({ length: 20 }, async (_, index) => {
    await setTimeout(index)
    seen.add(await dataSource.getRepository(Entry).count())
  })
  await expect(transaction).rejects.toThrow('taken back')
  await Promise.all(reads)
  expect([...seen]).toEqual([0])
})

test('statements outside of transactions run side by side', async () => {
  const { dataSource } = await open(true)
  const runners = [dataSource.createQueryRunner(), dataSource.createQueryRunner()]
  expect(runners[0]).not.toBe(runners[1])
  expect(await Promise.all(runners.map((runner) => runner.query('SELECT 1 AS one')))).toEqual([
    [{ one: 1 }],
    [{ one: 1 }],
  ])
})

test('who waits too long is told so; a request is 503 with Retry-After', async () => {
  const world = await openWorld({ entities: [Entry], mount: { waitLimit: 50 } })
  worlds.push(world)
  const runner = world.dataSource.createQueryRunner()
  await runner.startTransaction()
  await expect(world.dataSource.getRepository(Entry).count()).rejects.toThrow(SqliteLockError)
  const reply = await send(world.url, 'GET /api/entry/')
  expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1'])
  expect(reply.json()).toEqual({
    type: 'urn:typeorm-resources:unavailable',
    title: 'Unavailable for the moment',
    status: 503,
    detail: 'the database cannot answer for the moment',
  })
  await runner.commitTransaction()
  await runner.release()
  expect((await send(world.url, 'GET /api/entry/')).status).toBe(200)
})

test('a repository that is used inside of a transaction, and not through its manager, is told so within a second', async () => {
  const { dataSource } = await open(true)
  const start = performance.now()
  const nested = dataSource.transaction(() => dataSource.getRepository(Entry).insert({ tag: '1' }))
  await expect(nested).rejects.toThrow('use the manager of the transaction')
  expect(performance.now() - start).toBeLessThan(2000)
  expect(await dataSource.getRepository(Entry).count()).toBe(0)
})

test('so is a subscriber', async () => {
  @EventSubscriber()
  class Outside {
    listenTo(): typeof Entry {
      return Entry
    }

    async afterUpdate(): Promise<void> {
      await dataSource.getRepository(Entry).count()
    }
  }
  const dataSource: DataSource = await openDataSource([Entry], undefined, { subscribers: [Outside] })
  lockSqlite(dataSource)
  const entry = await dataSource.getRepository(Entry).save({ tag: '1' })
  await expect(dataSource.getRepository(Entry).save({ ...entry, tag: '2' })).rejects.toThrow('event.manager')
  expect(await dataSource.getRepository(Entry).find()).toEqual([entry])
  await dataSource.destroy()
})

const ways: readonly (readonly [string, (dataSource: DataSource) => Promise<unknown>])[] = [
  ['a query runner that is released in the middle of a transaction', abandon],
  ['a transaction that cannot be ended', breakOff],
  ['BEGIN and ROLLBACK as text', asText],
  ['a transaction that a savepoint begins, behind a comment', bySavepoint],
  ['a query runner that is released while it waits', releaseWaiting],
  ['a nested transaction', (dataSource) => dataSource.transaction((outer) => outer.transaction(async () => {}))],
]
test.each(ways)('%s holds nobody up', async (_, way) => {
  const { dataSource, url } = await open(true)
  await way(dataSource)
  const { status } = await send(url, 'POST /api/entry/', { body: { tag: '1' } })
  expect([status, await dataSource.getRepository(Entry).count()]).toEqual([201, 1])
})

async function abandon(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  await runner.manager.insert(Entry, { tag: 'abandoned' })
  await runner.release()
}

/** SQLite has rolled back by itself, so that ROLLBACK fails. */
async function breakOff(dataSource: DataSource): Promise<void> {
  const transaction = dataSource.transaction(async (manager) => {
    await manager.insert(Entry, { tag: 'gone' })
    await manager.query('ROLLBACK')
    throw new Error('broken off')
  })
  await expect(transaction).rejects.toThrow('broken off')
}

async function asText(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner()
  await runner.query('BEGIN IMMEDIATE')
  await runner.query(`INSERT INTO "entry" ("tag") VALUES ('gone')`)
  await runner.query('ROLLBACK')
  await runner.release()
}

async function bySavepoint(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner()
  await runner.query('/* mine */ SAVEPOINT a')
  const other = dataSource.getRepository(Entry).insert({ tag: 'of another' })
  await runner.query(`INSERT INTO "entry" ("tag") VALUES ('gone')`)
  await runner.query('ROLLBACK TO a')
  await runner.query('RELEASE a')
  await other
  await dataSource.query(`DELETE FROM "entry" WHERE "tag" = 'of another'`)
}

async function releaseWaiting(dataSource: DataSource): Promise<void> {
  const [first, second] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()]
  await first.startTransaction()
  const waiting = second.startTransaction()
  await second.release()
  await first.rollbackTransaction()
  await expect(waiting).rejects.toThrow('released')
}

/** Hears of every statement, and does not want one of them, once. */
@EventSubscriber()
class Nosy {
  static unwanted = ''
  beforeQuery({ query }: { readonly query: string }): void {
    if (query !== Nosy.unwanted) return
    Nosy.unwanted = ''
    throw new Error('not this one')
  }
}

test.each(['BEGIN TRANSACTION', 'ROLLBACK', 'COMMIT'])(
  'a subscriber that throws before %s leaves nothing open',
  async (sql) => {
    const dataSource = await openDataSource([Entry], undefined, { subscribers: [Nosy] })
    lockSqlite(dataSource)
    Nosy.unwanted = sql
    const transaction = dataSource.transaction(async (manager) => {
      await manager.insert(Entry, { tag: 'gone' })
      if (sql === 'ROLLBACK') throw new Error('taken back')
    })
    await expect(transaction).rejects.toThrow()
    expect(await dataSource.getRepository(Entry).count()).toBe(0)
    await dataSource.getRepository(Entry).save({ tag: 'kept' })
    expect(await dataSource.getRepository(Entry).count()).toBe(1)
    await dataSource.destroy()
  },
)

test('what comes late in a transaction that was taken back is not stored', async () => {
  const { dataSource } = await open(true)
  let late: Promise<unknown> = Promise.resolve()
  const transaction = dataSource.transaction((manager) => {
    late = setTimeout(20).then(() => manager.insert(Entry, { tag: 'late' }))
    throw new Error('taken back')
  })
  await expect(transaction).rejects.toThrow('taken back')
  await expect(late).rejects.toThrow('released')
  expect(await dataSource.getRepository(Entry).count()).toBe(0)
})

test('a transaction that is open when the lock is installed goes on, and is waited for', async () => {
  const dataSource = await openDataSource([Entry])
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  await runner.query(`INSERT INTO "entry" ("tag") VALUES ('1')`)
  lockSqlite(dataSource)
  const count = dataSource.getRepository(Entry).count()
  await runner.rollbackTransaction()
  expect(await count).toBe(0)
  await runner.startTransaction()
  await runner.commitTransaction()
  await dataSource.transaction((manager) => manager.insert(Entry, { tag: '2' }))
  expect(await dataSource.getRepository(Entry).count()).toBe(1)
  await dataSource.destroy()
})

test('a query runner has many transactions, and what its listeners call is known in each', async () => {
  const { dataSource } = await open(true)
  const runner = dataSource.createQueryRunner()
  const start = performance.now()
  for (let round = 0; round < 500; round++) {
    await runner.startTransaction()
    await runner.manager.query('SELECT 1')
    await runner.commitTransaction()
  }
  await runner.release()
  expect(performance.now() - start).toBeLessThan(10_000)
})

test('a data source that is closed in the middle of a transaction can be opened again', async () => {
  const dataSource = await openDataSource([Entry])
  lockSqlite(dataSource)
  await dataSource.createQueryRunner().startTransaction()
  await dataSource.destroy()
  await dataSource.initialize()
  await dataSource.getRepository(Entry).insert({ tag: '1' })
  expect(await dataSource.getRepository(Entry).count()).toBe(1)
  await dataSource.destroy()
})

test('so many may wait, and no more', async () => {
  const { dataSource } = await open(true)
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  const waiting = Array.from({ length: 1100 }, () => dataSource.query('SELECT 1').then(String, String))
  const told = await Promise.race([Promise.all(waiting.slice(-100)), setTimeout(1000, [])])
  expect(new Set(told)).toEqual(
    new Set(['SqliteLockError: 1000 statements and transactions are already waiting for the only connection']),
  )
  await runner.rollbackTransaction()
  await runner.release()
  expect((await Promise.all(waiting.slice(0, 1000))).every((one) => one === '[object Object]')).toBe(true)
})

@Entity()
class Parent {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
class Child {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Parent, { onDelete: 'CASCADE', nullable: false }) parent!: Parent
}

class Fail1700000000000 {
  async up(): Promise<void> {
    throw new Error('no such migration')
  }

  async down(): Promise<void> {}
}

test('after a migration that has failed foreign keys are checked again, and nobody is held up', async () => {
  const dataSource = await openDataSource([Entry, Parent, Child], undefined, { migrations: [Fail1700000000000] })
  lockSqlite(dataSource)
  await expect(dataSource.runMigrations()).rejects.toThrow('no such migration')
  await expect(dataSource.getRepository(Child).insert({ parent: { id: 9 } })).rejects.toThrow('FOREIGN KEY')
  await dataSource.destroy()
})

/** As TypeORM changes a table of SQLite: it makes another, and drops the first, which with foreign keys would empty its children. */
class Rebuild1700000000000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE "other" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL)')
    await runner.query('INSERT INTO "other" SELECT "id" FROM "parent"')
    await runner.query('DROP TABLE "parent"')
    await runner.query('ALTER TABLE "other" RENAME TO "parent"')
  }

  async down(): Promise<void> {}
}

test('a migration beside transactions: foreign keys are off in it, and in nothing else', async () => {
  const dataSource = await openDataSource([Entry, Parent, Child], undefined, { migrations: [Rebuild1700000000000] })
  lockSqlite(dataSource)
  const parent = await dataSource.getRepository(Parent).save({})
  await dataSource.getRepository(Child).insert(Array.from({ length: 5 }, () => ({ parent })))
  let isOver = false
  const seen = new Set<unknown>()
  const busy = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      await dataSource.transaction(async (manager) => {
        const [{ foreign_keys }] = await manager.query('PRAGMA foreign_keys')
        seen.add(foreign_keys)
        await manager.insert(Entry, { tag: '1' })
        await setTimeout(2)
      })
    }
  })
  await setTimeout(10)
  await dataSource.runMigrations()
  isOver = true
  await Promise.all(busy)
  expect([await dataSource.getRepository(Child).count(), [...seen]]).toEqual([5, [1]])
  await dataSource.destroy()
})

test('it is installed once, and works for a data source that is opened again', async () => {
  const dataSource = await openDataSource([Entry])
  lockSqlite(dataSource)
  const { createQueryRunner } = dataSource.driver
  lockSqlite(dataSource)
  expect(dataSource.driver.createQueryRunner).toBe(createQueryRunner)
  await dataSource.getRepository(Entry).insert({ tag: '1' })
  await dataSource.destroy()
  await dataSource.initialize()
  await dataSource.getRepository(Entry).insert({ tag: '1' })
  expect(await dataSource.getRepository(Entry).count()).toBe(1)
  await dataSource.destroy()
})
