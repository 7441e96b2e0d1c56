import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * How many requests a hostile test sends:
 * - `TEST_CASES=500`: so many in each file, whatever else is said;
 * - `TEST_NIGHTLY=1`: the file's number for the night;
 * - neither: the few that `npm test` has time for.
 */
export function caseCount(usual: number, nightly: number): number {
  const given = Number(process.env['TEST_CASES'] ?? '')
  if (Number.isInteger(given) && given > 0) return given
  return process.env['TEST_NIGHTLY'] === '1' ? nightly : usual
}

/** Milliseconds that a test of so many requests may take: a hundredth of a second each, on a machine that has other work. */
export function timeFor(cases: number): number {
  return 60_000 + cases * 10
}

let collect: (() => void) | undefined

/** Bytes on the heap that are in use. */
export function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  collect ??= runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
