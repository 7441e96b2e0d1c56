import fc from 'fast-check'
import type { Reply } from '../client'

const functions = ['sum', 'avg', 'min', 'max', 'count_distinct', 'count_distinct'] as const
const parts = ['', '', '', '', '', '', '', '', '__year', '__week'] as const

/**
 * Parameters of a list of groups, with filters on groups and orderings.
 * @param path paths of fields
 */
export function aggregateParameters(path: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  const aggregate = fc.oneof(
    { weight: 2, arbitrary: fc.constant('count') },
    { weight: 1, arbitrary: fc.tuple(path, fc.constantFrom(...functions)).map((names) => names.join('__')) },
  )
  const key = fc.tuple(path, fc.constantFrom(...parts)).map((names) => names.join(''))
  return fc
    .record({
      aggregates: fc.uniqueArray(aggregate, { minLength: 1, maxLength: 2 }),
      by: fc.uniqueArray(key, { maxLength: 2 }),
      having: fc.constantFrom('', '', '', '', '', '', '__gte=2', '__lt=3', '__ne=1', '__eq=2', '__gte=2024-01-03'),
      ordering: fc.constantFrom(undefined, '', '-'),
      page: fc.subarray(['limit=2', 'page=2']),
    })
    .map(({ aggregates, by, having, ordering, page }) => [
      `aggregate=${aggregates.join()}`,
      ...(by.length === 0 ? [] : [`by=${by.join()}`]),
      ...(having === '' ? [] : [`${aggregates[0]}${having}`]),
      ...(ordering === undefined ? [] : [`ordering=${ordering}${aggregates[0]}`]),
      ...page,
    ])
}

/** Parameters of a streamed list, or none. */
export const formatParameters: fc.Arbitrary<readonly string[]> = fc.constantFrom(
  ...[['format=csv'], ['format=ndjson'], ['format=csv', 'limit=2']],
)

/** The parameters of a request that returned records or groups: `aggregate`, `by`, …. */
export function answeredParameters(line: string, { status, text }: Reply): readonly string[] {
  const names = [...line.matchAll(/[?&](\w+)=/g)].flatMap(([, name]) => name ?? [])
  return status === 200 && !text.includes('"objects":[]') && text.length > 40 ? names : []
}
