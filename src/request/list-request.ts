import { ApiError, type FieldErrors } from '../errors'
import { type OptionalName, reservedNames } from '../schema/list-parameters'
import { type Filter, type FilterNode, groupKey, isGroupName, parseGroup } from './groups'
import type { Limits } from './limits'
import { type Pair, parsePairs } from './pairs'

/** A list request as its query string says it, before any field is looked up. */
export interface ListRequest {
  /** All filters, those within groups too, in the order of the query string; a name may come twice. */
  readonly filters: readonly Filter[]
  /** How they are combined: all nodes must hold. */
  readonly where: readonly FilterNode[]
  /** What is asked, without the values of filters: requests of which this is the same name the same fields. */
  readonly cacheKey: string
  /** Names as given, with a leading `-` for descending. */
  readonly ordering: readonly string[]
  /** Records a page has at most; 0 only with `count`. */
  readonly limit: number
  /** The first is 1. */
  readonly page: number
  /** The token of `after`, empty for the first page; undefined where it was not sent. */
  readonly after: string | undefined
  /** How the records of all pages are counted; undefined where they are not. */
  readonly count: Counting | undefined
  /** The other parameters as sent, for the links to other pages: `published=true&ordering=id`. */
  readonly others: string
}

/** `exact` counts all records, `capped` those up to `limits.count`. */
export type Counting = (typeof countings)[number]
export const countings = ['exact', 'capped'] as const

/**
 * Parses the query string of a list (specification: Names of filters, Repeated parameters, Unknown parameters, Groups, Counts).
 * @param optional the optional parameters of this list
 * @param errors receives what is wrong with single parameters
 * @throws {ApiError} `bad-query`, when the text cannot be taken apart or is too large
 */
export function parseListRequest(
  querystring: string,
  optional: ReadonlySet<OptionalName>,
  limits: Limits,
  errors: FieldErrors,
): ListRequest {
  const pairs = readPairs(querystring, limits)
  const filters: Filter[] = []
  const where: FilterNode[] = []
  let cacheKey = ''
  let others = ''
  for (const pair of pairs) {
    const { name, value, raw, rawName } = pair
    const isOptional = (optional as ReadonlySet<string>).has(name)
    if (isGroupName(name)) {
      const group = parseGroup(name, value, filters, errors)
      if (group === undefined) continue
      where.push(group)
      cacheKey += `&=${groupKey(group, filters)}`
    } else if (!isOptional && !reservedNames.has(name)) {
      where.push(filters.push(pair) - 1)
      // As sent, where no name has "&" or "=" in it: decoded, `title%26score` would be the names of two.
      cacheKey += `&${rawName}`
    } else if (name === 'ordering') cacheKey += `&${raw}`
    else if (name !== 'count') continue
    others += `&${raw}`
  }
  if (filters.length > limits.filters) {
    throw new ApiError('bad-query', `at most ${limits.filters} filters are allowed, these are ${filters.length}`)
  }
  const single = (name: string): string | undefined => readSingle(pairs, name, errors)
  const count = optional.has('count') ? readCounting(single('count'), errors) : undefined
  const smallest = count === undefined ? 1 : 0
  const limit = readInteger('limit', single('limit'), smallest, limits.page.max, errors) ?? limits.page.default
  const reach = ` (pages reach ${limits.depth} records deep; go further by filtering, or by following links from after=)`
  const after = optional.has('after') ? single('after') : undefined
  // After a token pages are not counted.
  const last = after || limit === 0 ? longestCount : Math.floor(limits.depth / limit)
  const page = readInteger('page', single('page'), 1, last, errors, reach) ?? 1
  return {
    filters,
    where,
    ordering: single('ordering')?.split(',') ?? [],
    limit,
    page,
    after,
    count,
    cacheKey,
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
  const pairs = parsePairs(querystring, limits.parameters, 'bad-query')
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

function readCounting(text: string | undefined, errors: FieldErrors): Counting | undefined {
  const counting = countings.find((name) => name === text)
  if (text !== undefined && counting === undefined) errors.add('count', `must be ${countings.join(' or ')}`)
  return counting
}

function readInteger(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
  errors: FieldErrors,
  why = '',
): number | undefined {
  if (text === undefined) return undefined
  const integer = /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
  if (integer >= min && integer <= max) return integer
  errors.add(name, `must be an integer from ${min} to ${max}${why}`)
  return undefined
}
