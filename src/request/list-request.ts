import { ApiError, type FieldErrors } from '../errors'
import type { Limits } from './limits'
import { type Pair, parsePairs } from './pairs'

/** A list request as its query string says it, before any field is looked up. */
export interface ListRequest {
  /** In the order of the query string; a name may come twice. */
  readonly filters: readonly Filter[]
  /** What is asked, without the values of filters: requests of which this is the same name the same fields. */
  readonly names: string
  /** Names as given, with a leading `-` for descending. */
  readonly ordering: readonly string[]
  /** Records a page has at most. */
  readonly limit: number
  /** The first is 1. */
  readonly page: number
  /** The token of `after`, empty for the first page; undefined where it was not sent. */
  readonly after: string | undefined
  /** The other parameters as sent, for the links to other pages: `published=true&ordering=id`. */
  readonly others: string
}

export interface Filter {
  readonly name: string
  readonly value: string
}

/** Words of the query string that are no fields (D15). */
export const reserved: ReadonlySet<string> = new Set(['ordering', 'limit', 'page'])
const reservedWithAfter: ReadonlySet<string> = new Set([...reserved, 'after'])

/**
 * Reads the query string of the list endpoint (spec.md, Query parameters; D15, D17, D19).
 * @param takesAfter whether `after` is the token of keyset paging, not a field
 * @param errors receives what is wrong with single parameters
 * @throws {ApiError} `bad-query`, when the text cannot be taken apart or is too large
 */
export function parseListRequest(
  querystring: string,
  takesAfter: boolean,
  limits: Limits,
  errors: FieldErrors,
): ListRequest {
  const pairs = readPairs(querystring, limits)
  const words = takesAfter ? reservedWithAfter : reserved
  const filters: Pair[] = []
  let names = ''
  let others = ''
  for (const pair of pairs) {
    const { name, raw, rawName } = pair
    const isFilter = !words.has(name)
    if (!isFilter && name !== 'ordering') continue
    if (isFilter) filters.push(pair)
    // As sent, where no name has "&" or "=" in it: decoded, `title%26score` would be the names of two.
    names += `&${isFilter ? rawName : raw}`
    others += `&${raw}`
  }
  if (filters.length > limits.filters) {
    throw new ApiError('bad-query', `at most ${limits.filters} filters are allowed, these are ${filters.length}`)
  }
  const single = (name: string): string | undefined => readSingle(pairs, name, errors)
  const limit = readCount('limit', single('limit'), limits.page.max, errors) ?? limits.page.default
  const reach = ` (pages reach ${limits.depth} records deep; go further by filtering, or by following links from after=)`
  const after = takesAfter ? single('after') : undefined
  // Behind a token pages are not counted.
  const last = after ? longestCount : Math.floor(limits.depth / limit)
  const page = readCount('page', single('page'), last, errors, reach) ?? 1
  return {
    filters,
    ordering: single('ordering')?.split(',') ?? [],
    limit,
    page,
    after,
    names,
    others: others.slice(1),
  }
}

/** Of the nine digits that a count may have. */
const longestCount = 999_999_999

function readPairs(querystring: string, limits: Limits): readonly Pair[] {
  const count = querystring.split('&').length
  if (count > limits.parameters) {
    throw new ApiError('bad-query', `at most ${limits.parameters} parameters are allowed, these are ${count}`)
  }
  const pairs = parsePairs(querystring, 'bad-query')
  for (const { name, value } of pairs) {
    if (name.length > limits.parameterName) {
      throw new ApiError(
        'bad-query',
        `a parameter's name may have ${limits.parameterName} characters, one has ${name.length}`,
      )
    }
    if (value.length > limits.parameterValue) {
      throw new ApiError('bad-query', `${name} may have ${limits.parameterValue} characters, it has ${value.length}`)
    }
  }
  return pairs
}

function readSingle(pairs: readonly Pair[], name: string, errors: FieldErrors): string | undefined {
  const isIt = (pair: Pair): boolean => pair.name === name
  const first = pairs.find(isIt)
  // The same, unless there are two.
  if (first !== pairs.findLast(isIt)) errors.add(name, 'is given twice')
  return first?.value
}

function readCount(
  name: string,
  text: string | undefined,
  max: number,
  errors: FieldErrors,
  why = '',
): number | undefined {
  if (text === undefined) return undefined
  const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN
  if (count <= max) return count
  errors.add(name, `must be an integer from 1 to ${max}${why}`)
  return undefined
}
