import { setImmediate } from 'node:timers/promises'
import { type LiveWorld, openLiveWorld, Task } from '../support/live-world'

/** How live lists share the process and the database with other requests and with each other (specification: Live lists). */

let world: LiveWorld
afterEach(() => world.close())

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
  // 200 records with each statement, for the first event and before it.
  expect(counts.length).toBeGreaterThan(30)
  expect(Math.max(...counts)).toBeLessThan(5)
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
