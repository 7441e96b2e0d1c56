import type { DataSource } from 'typeorm'
import { dialectOf } from './dialect-of'

/** What a data source that has one connection for all is doing, one thing after another. */
interface Queue {
  last: Promise<unknown>
  length: number
}

const queues = new WeakMap<DataSource, Queue>()

/**
 * Does work when what was begun before it is done, where all share one connection: else it would be in the transaction of
 * another, would read what is taken back, and be gone with it.
 */
export function inTurn<T>(dataSource: DataSource, work: () => Promise<T>): Promise<T> {
  if (!dialectOf(dataSource).sharesConnection) return work()
  const queue = queues.get(dataSource) ?? { last: Promise.resolve(), length: 0 }
  queues.set(dataSource, queue)
  queue.length += 1
  const done = queue.last.then(work).finally(() => {
    queue.length -= 1
  })
  queue.last = done.catch(() => undefined)
  return done
}

/** Does work that only reads: at once, unless somebody writes. */
export function besideWrites<T>(dataSource: DataSource, work: () => Promise<T>): Promise<T> {
  const isBusy = (queues.get(dataSource)?.length ?? 0) > 0
  return isBusy ? inTurn(dataSource, work) : work()
}
