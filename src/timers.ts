import { setImmediate } from 'node:timers/promises'

/** The longest time that Node.js timers can count, in milliseconds: about 24 days. */
export const maxTimerMs = 2 ** 31 - 1

/** Resolves like `work`, or with `late` if that takes longer than `limit` milliseconds. */
export async function within<T>(limit: number, work: Promise<T>, late: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, Math.min(limit, maxTimerMs), late)
  })
  return Promise.race([work, waited]).finally(() => clearTimeout(timer))
}

/**
 * Resolves after the event loop has polled for events of other requests. The first callback may run before the poll: a
 * callback that is scheduled by an event, such as the arrival of rows, runs directly after the events.
 */
export async function nextPoll(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

/** Time of synchronous work after which other requests run, in milliseconds. */
export const maxBlockingMs = 10

/**
 * Returns a function to be called between steps of synchronous work. It makes a pause, in which other requests run, if the
 * previous pause was more than 10 milliseconds ago.
 */
export function startPauses(): () => Promise<void> {
  let last = performance.now()
  return async () => {
    if (performance.now() - last < maxBlockingMs) return
    await setImmediate()
    last = performance.now()
  }
}
