// Not the global one: fake timers of Jest and others replace it by an object without `nodeTiming`.
import { performance } from 'node:perf_hooks'

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

/** The iteration of the event loop: it differs if the event loop has polled for events in the meantime. */
export const loopCount = (): number => performance.nodeTiming.uvMetricsInfo.loopCount

/** Time of synchronous work after which other requests run, in milliseconds. */
export const maxBlockingMs = 10
