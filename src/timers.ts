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
