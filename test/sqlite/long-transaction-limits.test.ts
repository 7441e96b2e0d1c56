import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type DataSource, Entity, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import {
  countEntries,
  entryCount,
  type FileWorld,
  type FileWorldOptions,
  fileWorldPerTest,
  heldCount,
  holdTransaction,
} from '../support/held-transaction'
import { insertRows } from '../support/insert-rows'
import { Person } from '../support/person'
import { leg } from '../world/leg'

/** When reads cannot use a second connection during a long transaction, or it fails. */

const open = fileWorldPerTest()

/**
 * Requires that a read waits for a transaction, and sees what it has written.
 * @param line another read than the count of entries, which must be answered with 200
 */
async function expectWait(world: FileWorld, before: number, line?: string): Promise<void> {
  const release = await holdTransaction(world)
  const read = line === undefined ? countEntries(world) : send(world.url, line).then(({ status }) => status)
  expect(await Promise.race([read, setTimeout(200, 'waits')])).toBe('waits')
  expect((await release()).status).toBe(201)
  expect(await read).toBe(line === undefined ? before + heldCount : 200)
  expect(world.faults).toEqual([])
}

/** Requires that reads do not wait for a transaction. */
async function expectNoWait(world: FileWorld, before: number): Promise<void> {
  const release = await holdTransaction(world)
  expect(await countEntries(world)).toBe(before)
  expect((await release()).status).toBe(201)
}

const waiting: readonly (readonly [string, FileWorldOptions])[] = [
  ['a database in memory', { source: { database: ':memory:', enableWAL: false } }],
  ['a temporary database', { source: { database: '', enableWAL: false } }],
  ['a file without WAL', { source: { enableWAL: false } }],
  ['an attached database', { seed: (dataSource) => dataSource.query(`ATTACH ':memory:' AS other`) }],
  ['a temporary table', { seed: (dataSource) => dataSource.query('CREATE TEMPORARY TABLE scratch (one)') }],
]
test.each(waiting)('with %s, reads wait for a long transaction', async (_, options) => {
  await expectWait(await open(options), entryCount)
})

test('if the second connection cannot be opened, reads wait', async () => {
  const world = await open()
  world.file.refuse()
  await expectWait(world, entryCount)
})

/** Reads from a database that is attached to the first connection alone. */
@Entity()
@Resource({ auth: permitAll })
class Elsewhere {
  @PrimaryGeneratedColumn() id!: number
  @VirtualColumn({ type: 'int', query: () => 'SELECT count(*) FROM other.thing' }) things!: number
}

test('a read that fails on the second connection waits, and is answered', async () => {
  const world = await open({ entities: [Elsewhere] })
  // The mount has read the list of databases then.
  await setTimeout(1000)
  await world.sql(`ATTACH ':memory:' AS other`)
  await world.sql('CREATE TABLE other.thing AS SELECT 1 AS one')
  await world.dataSource.getRepository(Elsewhere).insert({})
  await expectWait(world, entryCount, 'GET /api/elsewhere/1/')
  expect(world.file.connections.length).toBe(2)
})

test('a read that fails on the second connection does not make others wait', async () => {
  const world = await open({ entities: [Elsewhere] })
  await setTimeout(1000)
  await world.sql(`ATTACH ':memory:' AS other`)
  await world.sql('CREATE TABLE other.thing AS SELECT 1 AS one')
  await world.dataSource.getRepository(Elsewhere).insert({})
  const release = await holdTransaction(world)
  expect(await countEntries(world)).toBe(entryCount)
  const failing = send(world.url, 'GET /api/elsewhere/1/')
  await setTimeout(100)
  const count = await Promise.race([countEntries(world), setTimeout(700, 'waits')])
  expect((await release()).status).toBe(201)
  expect([count, (await failing).status]).toEqual([entryCount, 200])
})

test('reads go on if the second connection is lost; it is opened again', async () => {
  const world = await open()
  const { file } = world
  const release = await holdTransaction(world)
  expect(await countEntries(world)).toBe(entryCount)
  await new Promise((resolve) => {
    const second = file.connections[1]
    second?.close(resolve)
    // better-sqlite3 closes at once.
    if (second?.open === false) resolve(undefined)
  })
  const read = countEntries(world)
  await setTimeout(1500)
  const [count, opened] = [await countEntries(world), file.connections.length]
  expect((await release()).status).toBe(201)
  expect([count, await read, world.faults]).toEqual([entryCount, entryCount + heldCount, []])
  // On a busy machine, the third one may be idle for a second, and be closed.
  expect(opened).toBeGreaterThanOrEqual(3)
})

test('the database can be switched out of WAL after a long transaction, and into it again', async () => {
  const world = await open()
  await expectNoWait(world, entryCount)
  expect(await world.sql('PRAGMA journal_mode = DELETE')).toEqual([{ journal_mode: 'delete' }])
  await expectWait(world, entryCount + heldCount)
  await world.sql('PRAGMA journal_mode = WAL')
  // An attempt to open the second connection is repeated after a second.
  await setTimeout(1200)
  await expectNoWait(world, entryCount + 2 * heldCount)
})

test('the second connection reads the same file if its path is relative, and the working directory changes', async () => {
  const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'sqlite-'))) as [string, string]
  const name = 'relative.sqlite'
  const previous = process.cwd()
  try {
    process.chdir(folders[0])
    const world = await open({ source: { database: name } })
    await setTimeout(50)
    process.chdir(folders[1])
    await expectNoWait(world, entryCount)
    await world.sql('PRAGMA wal_checkpoint')
    copyFileSync(join(folders[0], name), name)
    await expectNoWait(world, entryCount + heldCount)
    await setTimeout(1200)
    await expectNoWait(world, entryCount + 2 * heldCount)
  } finally {
    process.chdir(previous)
    for (const folder of folders) rmSync(folder, { recursive: true })
  }
})

test('a read that takes too long on the second connection is refused, and does not run again', async () => {
  const seed = async (dataSource: DataSource): Promise<void> => {
    const people = Array.from({ length: 2000 }, (_, index) => ({ id: index + 1, name: 'p' }))
    await insertRows(dataSource, Person, people)
    await dataSource.query(
      'INSERT INTO person_friends_person SELECT a.id, b.id FROM person a JOIN person b ON b.id % 40 = a.id % 40',
    )
  }
  const world = await open({ entities: [Person], seed, mount: { statementTimeout: 50 } })
  const release = await holdTransaction(world)
  await setTimeout(30)
  const slow = await send(world.url, 'GET /api/person/?friends__friends__friends__friends__name__ne=z')
  expect([slow.status, await countEntries(world), world.file.connections.length]).toEqual([503, entryCount, 2])
  expect((await release()).status).toBe(201)
})

if (leg.driver === 'better-sqlite3') {
  test('`prepareDatabase` is called for the second connection; if it throws, reads wait', async () => {
    let calls = 0
    const prepareDatabase = (connection: { exec: (sql: string) => void; readonly readonly: boolean }): void => {
      calls += 1
      connection.exec('CREATE TABLE IF NOT EXISTS prepared (one)')
      if (calls > 2) connection.exec('INSERT INTO prepared VALUES (1)')
    }
    const world = await open({ source: { prepareDatabase } as FileWorldOptions['source'] & object })
    await expectNoWait(world, entryCount)
    await setTimeout(1200)
    await expectWait(world, entryCount + heldCount)
    expect([calls, world.file.connections.map((connection) => connection.open)]).toEqual([3, [true, false, false]])
  })
}
