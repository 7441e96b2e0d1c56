/** Whether the long form runs, with the numbers in the documentation; the short one finds the same faults with fewer requests. */
const isLong = process.env['TEST_FAULTS'] === 'long'

/** Selects the value for the short or the long form of the run. */
export function byForm<T>(forms: { readonly short: T; readonly long: T }): T {
  return isLong ? forms.long : forms.short
}

/** Resolves after the given time. */
export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until a condition holds. @throws {Error} with the text `what` if it does not hold within the limit */
export async function until(what: string, condition: () => unknown, limit = 60_000): Promise<void> {
  const end = Date.now() + limit
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${limit} ms`)
    await sleep(20)
  }
}

/** Logs measured figures, for the documentation. */
export function logFigures(what: string, figures: Readonly<Record<string, unknown>>): void {
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  console.info(`faults: ${what}: ${texts.join(', ')}`)
}

/** The 99th percentile. */
export function p99(durations: readonly number[]): number {
  const sorted = durations.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)
}
