import { setImmediate } from 'node:timers/promises'
import { DataSource } from 'typeorm'
import { openSession } from '../../src/connection/db-session'
import { shareReads } from '../../src/connection/shared-read'
import { newStatementCache } from '../../src/connection/statement-cache'

const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
const session = openSession({ dataSource, waitLimit: 1, timeLimit: 1, statements: newStatementCache() })

/** A value that changes, and reads of it that take as long as the test wants. */
function slowReads() {
  let value = 'old'
  const ends: (() => void)[] = []
  const read = shareReads(async (_, key: string) => {
    const seen = value
    await new Promise<void>((end) => ends.push(end))
    if (seen === 'broken') throw new Error(`cannot read ${key}`)
    return seen
  })
  return {
    read: (key = 'a') => read(session, key),
    set: (next: string) => {
      value = next
    },
    /** Ends the reads that run. @returns their number */
    end: async () => {
      await setImmediate()
      await setImmediate()
      const running = ends.splice(0)
      for (const end of running) end()
      return running.length
    },
  }
}

test('requests that arrive together share a read', async () => {
  const { read, end } = slowReads()
  const results = Promise.all([read(), read(), read()])
  expect(await end()).toBe(1)
  expect(await results).toEqual(['old', 'old', 'old'])
})

test('a request that arrives while a read runs gets the result of a later one', async () => {
  const { read, set, end } = slowReads()
  const first = read()
  await setImmediate()
  await setImmediate()
  set('new')
  const later = Promise.all([read(), read()])
  expect(await end()).toBe(1)
  expect(await first).toBe('old')
  expect(await end()).toBe(1)
  expect(await later).toEqual(['new', 'new'])
})

test('other keys have reads of their own', async () => {
  const { read, end } = slowReads()
  const results = Promise.all([read('a'), read('b')])
  expect(await end()).toBe(2)
  await results
})

test('an error is that of the requests that share the read, and not of later ones', async () => {
  const { read, set, end } = slowReads()
  set('broken')
  const results = Promise.allSettled([read(), read()])
  expect(await end()).toBe(1)
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  set('new')
  const next = read()
  expect(await end()).toBe(1)
  expect(await next).toBe('new')
})
