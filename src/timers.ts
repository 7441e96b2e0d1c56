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

/** Callbacks of the pauses that have begun, in this order. */
const pausedWork: (() => void)[] = []

/**
 * Resolves after the event loop has polled for events of other requests. Only one pause ends between two polls: if long work of
 * many requests went on after the same poll, short requests would wait for a part of each.
 */
export async function nextPoll(): Promise<void> {
  // The first immediate may run before the poll: a callback that is scheduled by an event, such as the arrival of rows, runs
  // directly after the events.
  if (pausedWork.length === 0) setImmediate(() => setImmediate(endPause))
  await new Promise<void>((resolve) => {
    pausedWork.push(resolve)
  })
}

/** Lets the work that has waited longest go on. */
function endPause(): void {
  pausedWork.shift()?.()
  if (pausedWork.length > 0) setImmediate(endPause)
}

/** The iteration of the event loop: it differs if the event loop has polled for events in the meantime. */
export const loopCount = (): number => performance.nodeTiming.uvMetricsInfo.loopCount

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
    await nextPoll()
    last = performance.now()
  }
}

/** Calls a function for each value. If this takes long, other requests may run in between. */
export async function mapWithPauses<From, To>(
  values: readonly From[],
  map: (value: From) => To,
): Promise<readonly To[]> {
  const mapped: To[] = []
  let start = performance.now()
  for (const value of values) {
    mapped.push(map(value))
    // Without `startPauses`: to await each of many short values would take a noticeable part of the time.
    if (performance.now() - start < maxBlockingMs) continue
    await nextPoll()
    start = performance.now()
  }
  return mapped
}
