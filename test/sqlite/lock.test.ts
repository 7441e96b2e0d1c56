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
import { permitAll } from '../support/access'
import { worldPerTest } from '../support/world-per-test'
import { openDataSource, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() tag!: string
}

/** Awaits something in the middle of a transaction, as a call to another service does, and throws for every third record. */
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

const openForTest = worldPerTest()

const open = (sqliteLock: boolean): Promise<World> =>
  openForTest({ entities: [Entry], source: { subscribers: [Slow] }, mount: { sqliteLock } })

/** Transactions of the application that `await` something; every other one is rolled back. */
async function runTransactions({ dataSource }: World, rounds: number): Promise<readonly string[]> {
  const kept: string[] = []
  for (let round = 0; round < rounds; round++) {
    const tag = `${3000 + 3 * round + 1}`
    const done = dataSource.transaction(async (manager) => {
      await manager.insert(Entry, { tag })
      await setTimeout(2)
      if (round % 2 === 1) throw new Error('rolled back')
    })
    await done.then(
      () => kept.push(tag),
      () => undefined,
    )
  }
  return kept
}

/** Number of acknowledged records that are lost, and of refused records that are stored. */
async function compare(sqliteLock: boolean): Promise<{ lost: number; unwanted: number; acknowledged: number }> {
  const world = await open(sqliteLock)
  const running = runTransactions(world, 20)
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

test('exactly the acknowledged records are stored', async () => {
  expect(await compare(true)).toEqual({ lost: 0, unwanted: 0, acknowledged: 80 + 10 })
})

test('without the lock records are lost or refused, which shows that the test notices it', async () => {
  const { lost, unwanted, acknowledged } = await compare(false)
  expect(lost + unwanted + (90 - acknowledged)).toBeGreaterThan(0)
})

test('reads outside of transactions do not see rows that are rolled back', async () => {
  const { dataSource } = await open(true)
  const seen = new Set<number>()
  const transaction = dataSource.transaction(async (manager) => {
    await manager.insert(Entry, { tag: '1' })
    await setTimeout(20)
    throw new Error('rolled back')
  })
  const reads = Array.from({ length: 20 }, async (_, index) => {
    await setTimeout(index)
    seen.add(await dataSource.getRepository(Entry).count())
  })
  await expect(transaction).rejects.toThrow('rolled back')
  await Promise.all(reads)
  expect([...seen]).toEqual([0])
})

test('statements outside of transactions run concurrently', async () => {
  const { dataSource } = await open(true)
  const runners = [dataSource.createQueryRunner(), dataSource.createQueryRunner()]
  expect(runners[0]).not.toBe(runners[1])
  expect(await Promise.all(runners.map((runner) => runner.query('SELECT 1 AS one')))).toEqual([
    [{ one: 1 }],
    [{ one: 1 }],
  ])
})

test('a statement that waits too long throws SqliteLockError; a request gets 503 with Retry-After', async () => {
  // Long enough for the statement about settings that runs after mounting, which this transaction waits for.
  const world = await openForTest({ entities: [Entry], mount: { waitLimit: 1000 } })
  const runner = world.dataSource.createQueryRunner()
  await runner.startTransaction()
  await expect(world.dataSource.getRepository(Entry).count()).rejects.toThrow(SqliteLockError)
  const reply = await send(world.url, 'GET /api/entry/')
  expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1'])
  expect(reply.json()).toEqual({
    type: 'urn:typeorm-resources:unavailable',
    title: 'Unavailable for the moment',
    status: 503,
    detail: 'the database is not available at the moment',
  })
  await runner.commitTransaction()
  await runner.release()
  expect((await send(world.url, 'GET /api/entry/')).status).toBe(200)
})

test('using a repository inside of a transaction instead of its manager throws within a second', async () => {
  const { dataSource } = await open(true)
  const start = performance.now()
  const nested = dataSource.transaction(() => dataSource.getRepository(Entry).insert({ tag: '1' }))
  await expect(nested).rejects.toThrow('use the manager of the transaction')
  expect(performance.now() - start).toBeLessThan(2000)
  expect(await dataSource.getRepository(Entry).count()).toBe(0)
})

test('using another repository in a subscriber throws as well', async () => {
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
  ['a query runner that is released in the middle of a transaction', releaseInTransaction],
  ['a transaction that cannot be ended', rollBackByStatement],
  ['BEGIN and ROLLBACK as text', runAsText],
  ['a transaction that a savepoint begins, after a comment', beginBySavepoint],
  ['a query runner that is released while it waits', releaseWaiting],
  ['a nested transaction', (dataSource) => dataSource.transaction((outer) => outer.transaction(async () => {}))],
]
test.each(ways)('%s does not block other requests', async (_, way) => {
  const { dataSource, url } = await open(true)
  await way(dataSource)
  const { status } = await send(url, 'POST /api/entry/', { body: { tag: '1' } })
  expect([status, await dataSource.getRepository(Entry).count()]).toEqual([201, 1])
})

async function releaseInTransaction(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  await runner.manager.insert(Entry, { tag: 'abandoned' })
  await runner.release()
}

/** Ends a transaction that SQLite has already rolled back, so that ROLLBACK fails. */
async function rollBackByStatement(dataSource: DataSource): Promise<void> {
  const transaction = dataSource.transaction(async (manager) => {
    await manager.insert(Entry, { tag: 'gone' })
    await manager.query('ROLLBACK')
    throw new Error('broken off')
  })
  await expect(transaction).rejects.toThrow('broken off')
}

async function runAsText(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner()
  await runner.query('BEGIN IMMEDIATE')
  await runner.query(`INSERT INTO "entry" ("tag") VALUES ('gone')`)
  await runner.query('ROLLBACK')
  await runner.release()
}

async function beginBySavepoint(dataSource: DataSource): Promise<void> {
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

/** Is called for every statement, and throws once for a given one. */
@EventSubscriber()
class ThrowOnce {
  static unwanted = ''
  beforeQuery({ query }: { readonly query: string }): void {
    if (query !== ThrowOnce.unwanted) return
    ThrowOnce.unwanted = ''
    throw new Error('not this one')
  }
}

test.each(['BEGIN TRANSACTION', 'ROLLBACK', 'COMMIT'])(
  'a subscriber that throws before %s leaves no transaction open',
  async (sql) => {
    const dataSource = await openDataSource([Entry], undefined, { subscribers: [ThrowOnce] })
    lockSqlite(dataSource)
    ThrowOnce.unwanted = sql
    const transaction = dataSource.transaction(async (manager) => {
      await manager.insert(Entry, { tag: 'gone' })
      if (sql === 'ROLLBACK') throw new Error('rolled back')
    })
    await expect(transaction).rejects.toThrow()
    expect(await dataSource.getRepository(Entry).count()).toBe(0)
    await dataSource.getRepository(Entry).save({ tag: 'kept' })
    expect(await dataSource.getRepository(Entry).count()).toBe(1)
    await dataSource.destroy()
  },
)

/** Stores an entry after each statement that reads entries. */
@EventSubscriber()
class StoreAfterRead {
  async afterQuery({ query, queryRunner }: { query: string; queryRunner: QueryRunner }): Promise<void> {
    if (!/^\s*SELECT.*FROM "entry"/s.test(query)) return
    await queryRunner.connection.query("INSERT INTO entry (tag) VALUES ('read')")
  }
}

test('a subscriber can run a statement during one of the service or of the application', async () => {
  const { url, dataSource } = await openForTest({
    entities: [Entry],
    source: { subscribers: [StoreAfterRead] },
    mount: { waitLimit: 1000 },
  })
  expect((await send(url, 'GET /api/entry/')).status).toBe(200)
  await dataSource.query('SELECT * FROM "entry"')
  // With sqlite3, TypeORM does not wait for the subscriber.
  while ((await dataSource.query('SELECT tag FROM entry')).length < 2) await setTimeout(10)
})

test('a statement that runs after its transaction was rolled back is not stored', async () => {
  const { dataSource } = await open(true)
  let late: Promise<unknown> = Promise.resolve()
  const transaction = dataSource.transaction((manager) => {
    late = setTimeout(20).then(() => manager.insert(Entry, { tag: 'late' }))
    throw new Error('rolled back')
  })
  await expect(transaction).rejects.toThrow('rolled back')
  await expect(late).rejects.toThrow('released')
  expect(await dataSource.getRepository(Entry).count()).toBe(0)
})

test('a transaction that is open when the lock is installed continues, and other statements wait for it', async () => {
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

test('a query runner can run 500 transactions in a row, within ten seconds', async () => {
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

test('a data source that is destroyed during a transaction can be initialized again', async () => {
  const dataSource = await openDataSource([Entry])
  lockSqlite(dataSource)
  await dataSource.createQueryRunner().startTransaction()
  await dataSource.destroy()
  await dataSource.initialize()
  await dataSource.getRepository(Entry).insert({ tag: '1' })
  expect(await dataSource.getRepository(Entry).count()).toBe(1)
  await dataSource.destroy()
})

test('at most 1,000 statements and transactions wait; further ones throw at once', async () => {
  const { dataSource } = await open(true)
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  const waiting = Array.from({ length: 1100 }, () => dataSource.query('SELECT 1').then(String, String))
  const results = await Promise.race([Promise.all(waiting.slice(-100)), setTimeout(1000, [], { ref: false })])
  expect(new Set(results)).toEqual(
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

test('after a failed migration foreign keys are checked again, and other statements do not wait', async () => {
  const dataSource = await openDataSource([Entry, Parent, Child], undefined, { migrations: [Fail1700000000000] })
  lockSqlite(dataSource)
  await expect(dataSource.runMigrations()).rejects.toThrow('no such migration')
  await expect(dataSource.getRepository(Child).insert({ parent: { id: 9 } })).rejects.toThrow('FOREIGN KEY')
  await dataSource.destroy()
})

/**
 * Changes a table as TypeORM does on SQLite: creates a new table, copies the rows, and drops the old table. With enforced foreign keys
 * this would delete the rows that refer to it.
 */
class Rebuild1700000000000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE "other" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL)')
    await runner.query('INSERT INTO "other" SELECT "id" FROM "parent"')
    await runner.query('DROP TABLE "parent"')
    await runner.query('ALTER TABLE "other" RENAME TO "parent"')
  }

  async down(): Promise<void> {}
}

test('a migration that runs in parallel with transactions disables foreign keys only for itself', async () => {
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

test('the lock is installed once, and works for a data source that is initialized again', async () => {
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
