import { existsSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { send } from '../client'
import {
  countEntries,
  Entry,
  entryCount,
  type FileWorld,
  fileWorldPerTest,
  heldCount,
  holdTransaction,
} from '../support/held-transaction'

/** Reads of this service during a transaction that holds the connection of a SQLite data source for long. */

const open = fileWorldPerTest()

/** Requests, each with the text of its response if there are `entries` entries of one hour. */
const reads: readonly (readonly [line: string, expected: (entries: number) => string, as?: string])[] = [
  ['GET /api/entry/?fields=id&limit=1000', (entries) => `{"id":${entries}}]}`],
  ['GET /api/entry/?count=exact&limit=0', (entries) => `"total":${entries}}`],
  ['GET /api/entry/?aggregate=hours__sum', (entries) => `${entries}}]}`],
  ['GET /api/entry/?ordering=-id&limit=1', (entries) => `"id":${entries},`],
  ['GET /api/project/?include=entries', () => '"tag":"old 99"'],
  ['GET /api/entry/7/', () => '"id":7,'],
  ['GET /api/paper/1/', () => '"paper"', 'ann'],
  ['GET /api/paper/', () => '"paper"', 'ann'],
]

/** Sends 200 reads, of which 8 at the same time. */
async function readAll({ url }: FileWorld, entries: number): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  for (let round = 0; round < 25; round++) {
    const replies = reads.map(async ([line, expected, as]) => {
      const reply = await send(url, line, { as, agent })
      expect([line, reply.status, reply.text]).toEqual([line, 200, expect.stringContaining(expected(entries))])
    })
    await Promise.all(replies)
  }
  agent.destroy()
}

test('200 reads during a transaction do not wait for it, and see only what is committed', async () => {
  const world = await open()
  const release = await holdTransaction(world)
  await setTimeout(2000)
  // If they waited, they would be refused: the transaction ends after them. `npm run bench:import` measures their times.
  await readAll(world, entryCount)
  expect((await release()).status).toBe(201)
  await readAll(world, entryCount + heldCount)
  expect(world.faults).toEqual([])
})

test('reads do not see what is rolled back', async () => {
  const world = await open()
  const release = await holdTransaction(world, 'held and refused')
  expect(await countEntries(world)).toBe(entryCount)
  expect((await release()).status).toBe(500)
  expect(await countEntries(world)).toBe(entryCount)
})

test('after a write is acknowledged, all reads see it, also during the next transaction', async () => {
  const world = await open()
  for (let round = 0; round < 20; round++) {
    const release = await holdTransaction(world)
    expect(await countEntries(world)).toBe(entryCount + round * heldCount)
    expect((await release()).status).toBe(201)
  }
})

test('a transaction of the application does not block reads either; its statements outside of it wait', async () => {
  const world = await open()
  const { dataSource } = world
  const order: string[] = []
  let own: Promise<unknown> = Promise.resolve()
  await dataSource.transaction(async (manager) => {
    await manager.insert(Entry, { tag: 'own', project: { id: 1 } })
    expect(await countEntries(world)).toBe(entryCount)
    order.push('list')
    own = dataSource.getRepository(Entry).count()
    own.then((count) => order.push(`repository ${count}`))
    await setTimeout(100)
    order.push('transaction')
  })
  await own
  expect(order).toEqual(['list', 'transaction', `repository ${entryCount + 1}`])
})

test('writes wait for the transaction, and are refused with 503 after the time limit', async () => {
  const world = await open({ mount: { waitLimit: 200 } })
  const release = await holdTransaction(world)
  const write = await send(world.url, 'PUT /api/entry/1/', { body: { tag: 'new', hours: 2, project_id: 1 } })
  expect([write.status, await countEntries(world)]).toEqual([503, entryCount])
  expect((await release()).status).toBe(201)
})

test('reads without a long transaction use no second connection', async () => {
  const world = await open()
  const writes = Array.from({ length: 20 }, (_, index) =>
    send(world.url, 'POST /api/entry/', { body: { tag: `${index}`, project_id: 1 } }),
  )
  expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([201]))
  expect([await countEntries(world), world.file.connections.length]).toEqual([entryCount + 20, 1])
})

test('hundreds of reads leave no file handles, and the second connection is closed a second after the last one', async () => {
  const world = await open()
  const { file, url } = world
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const before = file.handles()
  for (let round = 1; round <= 2; round++) {
    const release = await holdTransaction(world)
    const replies = await Promise.all(Array.from({ length: 100 }, () => send(url, 'GET /api/entry/7/', { agent })))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    await setTimeout(1500)
    expect(file.connections.map((connection) => connection.open)).toEqual([true, ...Array(round).fill(false)])
    await release()
  }
  agent.destroy()
  // SQLite keeps one handle of closed connections while the first connection has a lock, and uses it for the next one.
  expect(file.handles()).toBeLessThanOrEqual(before + 1)
})

test('destroying the data source closes both connections, and it can be initialized again', async () => {
  const world = await open()
  const { dataSource, file } = world
  for (let round = 0; round < 2; round++) {
    const release = await holdTransaction(world)
    expect(await countEntries(world)).toBe(entryCount + heldCount * round)
    await release()
    expect(file.connections.length).toBe(2 * round + 2)
    await dataSource.destroy()
    expect(file.connections.some((connection) => connection.open)).toBe(false)
    expect([file.handles(), existsSync(`${file.path}-wal`)]).toEqual([0, false])
    await dataSource.initialize()
  }
  expect(await countEntries(world)).toBe(entryCount + 2 * heldCount)
})

test('destroying the data source during a transaction closes both connections', async () => {
  const world = await open()
  const { dataSource, file } = world
  const release = await holdTransaction(world)
  expect(await countEntries(world)).toBe(entryCount)
  // These may be answered or fail.
  const reads = Array.from({ length: 10 }, () => countEntries(world))
  await dataSource.destroy()
  expect([file.handles(), file.connections.some((connection) => connection.open)]).toEqual([0, false])
  await Promise.all([...reads, release()])
  await dataSource.initialize()
})
