/**
 * Number of requests that a hostile test sends: `TEST_CASES` if it is set; the nightly number if `TEST_NIGHTLY=1` is set; otherwise the
 * usual number, which `npm test` has time for.
 */
export function caseCount(usual: number, nightly: number): number {
  const given = Number(process.env['TEST_CASES'] ?? '')
  if (Number.isInteger(given) && given > 0) return given
  return process.env['TEST_NIGHTLY'] === '1' ? nightly : usual
}

/** Timeout in milliseconds of a test with so many requests: 100 ms for each, on a machine that several programs keep busy. */
export function timeFor(cases: number): number {
  return 60_000 + cases * 100
}
