/** The long form takes the numbers that the documentation tells of; the short one finds the same faults with less. */
const isLong = process.env['TEST_FAULTS'] === 'long'

/** One of two, by the form of the run. */
export function byForm<T>(forms: { readonly short: T; readonly long: T }): T {
  return isLong ? forms.long : forms.short
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Asks again until the answer is true. @throws {Error} after the limit, with what was waited for */
export async function until(what: string, ask: () => unknown, limit = 10_000): Promise<void> {
  const end = Date.now() + limit
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${limit} ms`)
    await sleep(20)
  }
}

/** Says a measured figure; the lines go into the documentation. */
export function tell(what: string, figures: Readonly<Record<string, unknown>>): void {
  const said = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  console.info(`faults: ${what}: ${said.join(', ')}`)
}

/** The greatest of the least 99 in 100. */
export function p99(durations: readonly number[]): number {
  const sorted = durations.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)
}
