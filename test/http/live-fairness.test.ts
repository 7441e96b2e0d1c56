import crypto from 'node:crypto'
import { get } from 'node:http'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { AfterLoad, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { block } from '../support/block'
import type { EventReader } from '../support/event-reader'
import { heapInUse } from '../support/heap'
import { byHeader, Label, type LiveWorld, liveEntities, openLiveWorld, Task } from '../support/live-world'

/** How live lists share the process and the database with other requests and with each other (specification: Live lists). */

let world: LiveWorld
afterEach(async () => {
  release()
  await world.close()
})

/** The reads of reports that wait; undefined if they do not wait. */
let held: (() => void)[] | undefined
const hold = (): void => {
  held = []
}
/** Lets all reads of reports continue. */
const release = (): void => {
  for (const resume of held ?? []) resume()
  held = undefined
}
/** Lets the first waiting read of reports continue. */
const releaseFirst = (): void => held?.shift()?.()

/** A resource whose reads the test can hold. */
@Entity()
@Resource({ auth: byHeader })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string

  @AfterLoad()
  wait(): Promise<void> | undefined {
    if (held === undefined) return undefined
    return new Promise((resolve) => held?.push(resolve))
  }
}

/** Number of times that the access rule of visits was called. It takes four milliseconds. */
let ruleCalls = 0

@Entity()
@Resource({
  auth: (request) => {
    ruleCalls += 1
    block(4)
    return byHeader(request)
  },
})
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

/** A service with one report. */
const openWithReport = async (limits: object = {}): Promise<void> => {
  world = await openLiveWorld({ limits }, { entities: [...liveEntities, Report] })
  await world.dataSource.getRepository(Report).insert({ name: 'first' })
}

/** Subscribes to lists, and waits until all of them are read. */
const watchAll = async (paths: readonly string[], user?: string): Promise<readonly EventReader[]> => {
  const readers = await Promise.all(paths.map((path) => world.watch(path, user)))
  for (const reader of readers) expect((await reader.take(1)).map(([name]) => name)).toEqual(['reset'])
  return readers
}

/** Changes the report, so that all lists of reports are read, and waits until a read is held. */
const changeReport = async (): Promise<void> => {
  hold()
  await world.dataSource.getRepository(Report).update({ id: 1 }, { name: 'second' })
  await untilHeld()
}

const untilHeld = async (): Promise<void> => {
  for (let attempt = 0; held?.length === 0 && attempt < 1000; attempt++) await sleep(5)
  expect(held).toHaveLength(1)
}

const reports = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `report/?id__gt=-${index}`)

const namesOf = (events: readonly (readonly [string, unknown])[]): readonly string[] => events.map(([name]) => name)

const create = async (count: number): Promise<void> => {
  for (let start = 0; start < count; start += 500) {
    const tasks = Array.from({ length: Math.min(500, count - start) }, (_, index) => ({
      title: `t${start + index}`,
      project: { id: 1 },
    }))
    await world.dataSource.getRepository(Task).insert(tasks)
  }
}

/**
 * Runs `work`, which reads live lists.
 * @returns the number of statements about tasks in each turn of the event loop that has any. Other requests run between turns.
 */
const countByTurn = async (work: Promise<unknown>): Promise<readonly number[]> => {
  const counts: number[] = []
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  world.statements()
  while (!isDone) {
    await setImmediate()
    const count = world.statements().filter((sql) => sql.includes('title')).length
    if (count > 0) counts.push(count)
  }
  await done
  return counts
}

test('other requests run between the statements that read a long list', async () => {
  world = await openLiveWorld()
  await create(4000)
  const read = async (): Promise<void> => {
    const reader = await world.watch('task/?fields=title')
    expect(await reader.take(1)).toMatchObject([['reset', { length: 4000 }]])
  }
  const counts = await countByTurn(read())
  // 1,000 records with each statement, for the first event and before it.
  expect(counts.length).toBeGreaterThan(6)
  expect(Math.max(...counts)).toBeLessThan(5)
})

test('other requests run between the comparisons of records with their previous states', async () => {
  world = await openLiveWorld({}, { entities: [...liveEntities, Visit] })
  const visits = world.dataSource.getRepository(Visit)
  await visits.insert(Array.from({ length: 100 }, (_, index) => ({ name: `v${index}` })))
  let turn = 0
  let timer = globalThis.setImmediate(function count() {
    turn++
    timer = globalThis.setImmediate(count)
  })
  const turns = new Set<number>()
  const { createHash } = crypto
  jest.spyOn(crypto, 'createHash').mockImplementation((...args) => {
    turns.add(turn)
    const end = performance.now() + 0.5
    while (performance.now() < end);
    return createHash(...args)
  })
  await watchAll(['visit/'])
  jest.restoreAllMocks()
  clearImmediate(timer)
  // Without pauses, all records of a statement are compared in one turn.
  expect(turns.size).toBeGreaterThan(2)
})

test('other requests run between the reads of several lists', async () => {
  world = await openLiveWorld({ limits: { liveListsPerClient: 50 } })
  await create(1)
  const readers = []
  for (let index = 0; index < 40; index++) readers.push(await world.watch(`task/?fields=title&id__gt=-${index}`))
  await Promise.all(readers.map((reader) => reader.take(1)))
  const counts = await countByTurn(
    (async () => {
      await world.dataSource.getRepository(Task).update(1, { title: 'new' })
      await Promise.all(readers.map((reader) => reader.take(1)))
    })(),
  )
  expect(Math.max(...counts)).toBeLessThan(10)
})

test('other requests run between the checks of the credentials of several lists', async () => {
  const limits = { liveCheck: 500, liveListsPerClient: 50 }
  world = await openLiveWorld({ limits }, { entities: [...liveEntities, Visit] })
  await watchAll(Array.from({ length: 40 }, (_, index) => `visit/?id__gt=-${index}`))
  ruleCalls = 0
  let mostCalls = 0
  for (const end = Date.now() + 10_000; ruleCalls < 80 && Date.now() < end; ) {
    const before = ruleCalls
    await setImmediate()
    mostCalls = Math.max(mostCalls, ruleCalls - before)
  }
  expect(ruleCalls).toBeGreaterThanOrEqual(80)
  expect(mostCalls).toBeLessThan(10)
})

test('lists that wait for a read share the keys of the changed records', async () => {
  world = await openLiveWorld({ limits: { liveListsPerClient: 200 } }, { entities: [...liveEntities, Report] })
  await world.dataSource.getRepository(Report).insert({ name: 'first' })
  await watchAll(reports(200))
  hold()
  await world.dataSource.getRepository(Report).save({ name: 'new' })
  await untilHeld()
  const before = heapInUse()
  for (let change = 0; change < 5; change++) {
    await world.dataSource.getRepository(Report).save(Array.from({ length: 900 }, () => ({ name: 'new' })))
  }
  expect(heapInUse() - before).toBeLessThan(4 * 1024 * 1024)
})

test('while slow lists of a client are read, other clients receive their events', async () => {
  await openWithReport()
  const slow = await watchAll(reports(5), 'ann:red')
  const [other] = await watchAll(['task/'], 'bob:red')
  await changeReport()
  for (let round = 0; round < 3; round++) {
    await create(1)
    expect(namesOf((await other?.take(1)) ?? [])).toEqual(['created'])
  }
  expect(held).toHaveLength(1)
  release()
  for (const reader of slow) expect(namesOf(await reader.take(1))).toEqual(['updated'])
})

test('a list that a client shares with another one does not wait for the other lists of that client', async () => {
  await openWithReport()
  await watchAll([...reports(5), 'label/'], 'ann:red')
  const [other] = await watchAll(['label/'], 'bob:red')
  await changeReport()
  await world.dataSource.getRepository(Label).insert({ name: 'new' })
  expect(namesOf((await other?.take(1)) ?? [])).toEqual(['created'])
  expect(held).toHaveLength(1)
})

test('a changed record of a client is read before its whole lists', async () => {
  await openWithReport()
  await watchAll(reports(5))
  const [reader] = await watchAll(['task/'])
  await changeReport()
  // Of an INSERT by a query builder, the service does not know the keys.
  await world.request('POST task/', { title: 'new', project_id: 1 })
  expect(await reader?.takeNone(50)).toEqual([])
  releaseFirst()
  expect(namesOf((await reader?.take(1)) ?? [])).toEqual(['created'])
  await untilHeld()
})

test('a list is not read if its client has disconnected before the first read', async () => {
  await openWithReport({ liveListsPerClient: 2 })
  await watchAll(['report/'])
  await changeReport()
  world.statements()
  const headers = { Accept: 'text/event-stream', 'X-User': 'ann:red' }
  const outgoing = get(`${world.url}/api/task/?done=true`, { agent: false, headers })
  outgoing.on('error', () => undefined)
  await sleep(100)
  outgoing.destroy()
  // Its subscription does not count any more. The next one waits for a read.
  const isRefused = async (): Promise<boolean> => {
    const reader = await Promise.race([world.watch('label/'), sleep(500)])
    return reader?.status === 429
  }
  for (let attempt = 0; (await isRefused()) && attempt < 100; attempt++) await sleep(20)
  expect(await isRefused()).toBe(true)
  release()
  await sleep(100)
  expect(world.statements().filter((sql) => sql.includes('done'))).toEqual([])
  expect(world.faults).toEqual([])
})

/** Opens a list and closes it. @returns the id of the last event */
const openAndClose = async (path: string): Promise<string> => {
  const [reader] = await watchAll([path])
  reader?.close()
  await reader?.waitForClose()
  return reader?.lastId ?? ''
}

test('a list without clients is not read until a client connects again, which receives what it has missed', async () => {
  world = await openLiveWorld()
  await create(1)
  const lastId = await openAndClose('task/?fields=title')
  const [other] = await watchAll(['task/?fields=title&done=false'])
  world.statements()
  await create(1)
  await other?.take(1)
  await sleep(100)
  const reads = world.statements().filter((sql) => sql.startsWith('SELECT') && sql.includes('title'))
  expect(reads.filter((sql) => !sql.includes('done'))).toEqual([])
  const again = await world.watch('task/?fields=title', 'ann:red', { 'Last-Event-ID': lastId })
  expect(await again.take(1)).toEqual([['created', { id: 2, title: 't0' }]])
})

test('at most liveListsPerClient lists of a client are kept', async () => {
  world = await openLiveWorld({ limits: { liveListsPerClient: 2 } })
  const paths = ['1', '2', '3'].map((id) => `task/?fields=title&id__ne=${id}`)
  const ids: string[] = []
  for (const path of paths) ids.push(await openAndClose(path))
  await create(4)
  const events: unknown[] = []
  for (const [index, path] of paths.entries()) {
    const reader = await world.watch(path, 'bob:red', { 'Last-Event-ID': ids[index] ?? '' })
    events.push((await reader.take(1)).map(([name]) => name)[0])
    reader.close()
  }
  expect(events).toEqual(['reset', 'created', 'created'])
})

test('a subscription is refused if its list is closed before the first event, because another client has too many records', async () => {
  await openWithReport({ allLiveRecords: 12 })
  await world.dataSource.getRepository(Label).insert(Array.from({ length: 9 }, () => ({ name: 'further' })))
  const [[grown], [other]] = [await watchAll(['task/'], 'bob:red'), await watchAll(['task/'], 'cid:red')]
  await create(10)
  expect([(await grown?.take(10))?.length, (await other?.take(10))?.length]).toEqual([10, 10])
  hold()
  // Two lists are read at the same time, so the list of labels waits until both clients have subscribed.
  const reading = ['dan:red', 'eve:red'].map((user) => world.watch('report/', user))
  await sleep(100)
  const joining = ['ann:red', 'bob:red'].map(async (user, index) => {
    await sleep(index * 50)
    return await world.watch('label/', user)
  })
  await sleep(150)
  release()
  await Promise.all(reading)
  const [first, second] = await Promise.all(joining)
  expect([first?.status, second?.status]).toEqual([503, 503])
  await first?.waitForClose()
  expect(first?.body).toContain('has ended')
  expect([grown?.isClosed, other?.isClosed]).toEqual([false, false])
})
