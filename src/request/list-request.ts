import { ApiError, type FieldErrors } from '../errors'
import type { ListFormat } from '../resource'
import { type OptionalName, reservedNames } from '../schema/list-parameters'
import { type Aggregation, isHavingName, parseAggregation } from './aggregation'
import { type FormatChoice, onlyJson, parseFormat } from './formats'
import { type Filter, type FilterNode, groupKey, isGroupName, parseGroup } from './groups'
import { type IncludeRequest, includesKey, parseIncludes } from './include'
import type { Limits } from './limits'
import { type Pair, parsePairs } from './pairs'

/** Parsed query string of a list request. Names of fields are not resolved yet. */
export interface ListRequest {
  /** All filters, including those in groups, in the order of the query string. A name may occur more than once. */
  readonly filters: readonly Filter[]
  /** How the filters are combined: all nodes must hold. */
  readonly where: readonly FilterNode[]
  /**
   * Names of the request without the values of its filters. Requests on one resource with the same key have the same
   * `QueryShape`.
   */
  readonly cacheKey: string
  /** Names in `ordering`, with a leading `-` for descending. */
  readonly ordering: readonly string[]
  /** Maximum number of records of the page; 0 only with `count`. */
  readonly limit: number
  /** Page number, from 1. */
  readonly page: number
  /** Token in `after`, empty for the first page; undefined if the parameter was not sent. */
  readonly after: string | undefined
  /** How the records of all pages are counted; undefined if they are not counted. */
  readonly count: Counting | undefined
  /** Different words of `search`, each of which must occur in a record. */
  readonly search: readonly string[]
  /** Names in `fields`; undefined if the records have all fields. */
  readonly fields: readonly string[] | undefined
  /** The related records that the records include. */
  readonly includes: readonly IncludeRequest[]
  /** Groups to return instead of records; undefined without `aggregate`. */
  readonly aggregation: Aggregation | undefined
  /** Which soft-deleted records are read; undefined for none. */
  readonly deleted: DeletedRecords | undefined
  /** Format in which all matching records are streamed; undefined for a page of JSON. */
  readonly format: ListFormat | undefined
  /** Parameters that the links to other pages repeat, as they were sent: `published=true&ordering=id`. */
  readonly repeated: string
}

/**
 * Which soft-deleted records a request reads: `only` these, or these `with` the other records
 * (specification: Restoring records).
 */
export type DeletedRecords = (typeof deletedRecords)[number]
export const deletedRecords = ['only', 'with'] as const

/** `exact` counts all records, `capped` at most `limits.count`. */
export type Counting = (typeof countings)[number]
export const countings = ['exact', 'capped'] as const

/**
 * Parses the query string of a list
 * (specification: Names of filters, Repeated parameters, Unknown parameters, Groups, Counts, Search, Selected fields).
 * @param optional the optional parameters of this list
 * @param errors receives the errors of single parameters
 * @param formats the formats besides JSON. Default: none
 * @throws {ApiError} `bad-query` if the query string cannot be decoded or exceeds a limit
 */
export function parseListRequest(
  querystring: string,
  optional: ReadonlySet<OptionalName>,
  limits: Limits,
  errors: FieldErrors,
  formats: FormatChoice = onlyJson,
): ListRequest {
  const pairs = readPairs(querystring, limits)
  const single = (name: string): string | undefined => readSingle(pairs, name, errors)
  const aggregation = optional.has('aggregate')
    ? parseAggregation(single('aggregate'), single('by'), limits, errors)
    : undefined
  const having: Filter[] = []
  const filters: Filter[] = []
  const where: FilterNode[] = []
  let cacheKey = ''
  let repeated = ''
  for (const pair of pairs) {
    const { name, value, raw, rawName } = pair
    const isOptional = (optional as ReadonlySet<string>).has(name)
    if (isGroupName(name)) {
      const group = parseGroup(name, value, filters, errors)
      if (group === undefined) continue
      where.push(group)
      cacheKey += `&=${groupKey(group, filters)}`
    } else if (aggregation !== undefined && isHavingName(aggregation, name, optional)) {
      having.push(pair)
    } else if (!isOptional && !reservedNames.has(name)) {
      where.push(filters.push(pair) - 1)
      // The encoded name, because `&` separates the names of the key: decoded, the single name `title%26score` would be
      // equal to the names `title` and `score`.
      cacheKey += `&${rawName}`
    } else if (name === 'ordering') cacheKey += `&${raw}`
    else if (!isOptional || name === 'after') continue
    repeated += `&${raw}`
  }
  if (aggregation !== undefined) refuseForGroups(pairs, optional, errors)
  const includes = optional.has('include') ? readIncludes(single('include'), limits, errors) : []
  if (includes.length > 0) cacheKey += `&include=${includesKey(includes)}`
  requireFilterCount(filters.length + having.length + countFilters(includes), limits)
  const deleted = optional.has('deleted') ? readDeleted(single('deleted'), errors) : undefined
  if (deleted !== undefined) cacheKey += deletedKey(deleted)
  const count = optional.has('count') ? readCounting(single('count'), errors) : undefined
  const words = optional.has('search') ? wordsOf(single('search')) : []
  // Each word costs at least 1. Comparisons are not built for more words than any search may have.
  const hasTooMany = words.length > limits.patternCost
  if (hasTooMany) errors.add('search', `may have at most ${limits.patternCost} words, this has ${words.length}`)
  const search = hasTooMany ? [] : words
  // Not the words: they are values, and a key may not contain them. No name of a parameter contains "=".
  if (search.length > 0) cacheKey += `&search=${search.length}`
  const minLimit = count === undefined ? 1 : 0
  const format = parseFormat(optional.has('format') ? single('format') : undefined, formats, errors)
  if (format !== undefined) refuseForStream(pairs, optional, errors)
  const sizes = format === undefined ? limits.page : streamSizes
  const limit = readInteger('limit', single('limit'), minLimit, sizes.max, errors) ?? sizes.default
  const hint = ` (pages end at record ${limits.depth}; to read more, add filters, or page by keyset with "after=")`
  const after = optional.has('after') ? single('after') : undefined
  // With a token or with `limit=0`, `page` does not become an OFFSET, so `limits.depth` does not limit it.
  const maxPage = after || limit === 0 || format !== undefined ? maxInteger : Math.floor(limits.depth / limit)
  const page = readInteger('page', single('page'), 1, maxPage, errors, hint) ?? 1
  return {
    filters,
    where,
    ordering: single('ordering')?.split(',') ?? [],
    limit,
    page,
    after,
    count,
    search,
    fields: optional.has('fields') ? single('fields')?.split(',') : undefined,
    includes,
    aggregation: aggregation && { ...aggregation, having },
    deleted,
    format,
    cacheKey,
    repeated: repeated.slice(1),
  }
}

/** Maximum integer in a parameter: nine digits, see `readInteger`. */
export const maxInteger = 999_999_999

/** Number of records of a streamed list: all of them, unless the request has a limit. */
const streamSizes = { default: Number.MAX_SAFE_INTEGER, max: maxInteger }

/**
 * Parses the query string of a live list, which has all matching records.
 * @throws {ApiError} `bad-query` if the query string cannot be decoded or exceeds a limit
 */
export function parseLiveListRequest(
  querystring: string,
  optional: ReadonlySet<OptionalName>,
  limits: Limits,
  errors: FieldErrors,
): ListRequest {
  const pairs = readPairs(querystring, limits)
  for (const name of ['limit', 'page', 'after', 'count', 'aggregate', 'by', 'format'] as const) {
    const isParameter = reservedNames.has(name) || optional.has(name as OptionalName)
    if (isParameter && pairs.some((pair) => pair.name === name)) {
      errors.add(name, 'cannot be combined with events: a live list has all matching records')
    }
  }
  return { ...parseListRequest(querystring, optional, limits, errors), after: undefined }
}

/** @throws {ApiError} `bad-query` */
export function requireFilterCount(count: number, { filters }: Limits): void {
  if (count > filters) {
    throw new ApiError('bad-query', `at most ${filters} filters are allowed, this request has ${count}`)
  }
}

/**
 * Splits a query string into its parameters.
 * @throws {ApiError} `bad-query` if it cannot be decoded or exceeds a limit
 */
export function readPairs(querystring: string, limits: Limits): readonly Pair[] {
  const count = querystring.split('&').length
  if (count > limits.parameters) {
    throw new ApiError('bad-query', `at most ${limits.parameters} parameters are allowed, this request has ${count}`)
  }
  const pairs = parsePairs(querystring, limits.parameters, 'bad-query')
  for (const { name, value } of pairs) {
    if (name.length > limits.parameterName) {
      throw new ApiError(
        'bad-query',
        `a parameter's name may have at most ${limits.parameterName} characters, one has ${name.length}`,
      )
    }
    if (value.length > limits.parameterValue) {
      throw new ApiError(
        'bad-query',
        `${name} may have at most ${limits.parameterValue} characters, it has ${value.length}`,
      )
    }
  }
  return pairs
}

/** Adds an error for each parameter of lists that a list of groups does not have. */
function refuseForGroups(pairs: readonly Pair[], optional: ReadonlySet<OptionalName>, errors: FieldErrors): void {
  for (const name of ['after', 'count', 'fields', 'include'] as const) {
    if (optional.has(name) && pairs.some((pair) => pair.name === name)) {
      const advice = name === 'count' ? '; to filter groups by their number of records, use count__gte' : ''
      errors.add(name, `cannot be combined with aggregate${advice}`)
    }
  }
}

/** Adds an error for each parameter of pages that a streamed list does not have. */
function refuseForStream(pairs: readonly Pair[], optional: ReadonlySet<OptionalName>, errors: FieldErrors): void {
  for (const name of ['page', 'after', 'count', 'include', 'aggregate', 'by'] as const) {
    const isParameter = name === 'page' || optional.has(name)
    if (isParameter && pairs.some((pair) => pair.name === name)) {
      errors.add(name, 'cannot be combined with a format other than json: such a list has all records')
    }
  }
}

/** Value of a parameter that may occur once. */
export function readSingle(pairs: readonly Pair[], name: string, errors: FieldErrors): string | undefined {
  const hasName = (pair: Pair): boolean => pair.name === name
  const first = pairs.find(hasName)
  // The first and the last pair of this name differ only if there are at least two.
  if (first !== pairs.findLast(hasName)) errors.add(name, 'is given twice')
  return first?.value
}

export function readIncludes(text: string | undefined, limits: Limits, errors: FieldErrors): readonly IncludeRequest[] {
  return text === undefined ? [] : parseIncludes(text, limits, errors)
}

export function countFilters(includes: readonly IncludeRequest[]): number {
  return includes.reduce((sum, { filters, includes: nested }) => sum + filters.length + countFilters(nested), 0)
}

/** The different words of a text, which white space separates. */
function wordsOf(text = ''): readonly string[] {
  return [...new Set(text.split(/\s+/u))].filter((word) => word !== '')
}

function readCounting(text: string | undefined, errors: FieldErrors): Counting | undefined {
  const counting = countings.find((name) => name === text)
  if (text !== undefined && counting === undefined) errors.add('count', `must be ${countings.join(' or ')}`)
  return counting
}

export function readDeleted(text: string | undefined, errors: FieldErrors): DeletedRecords | undefined {
  const deleted = deletedRecords.find((name) => name === text)
  if (text !== undefined && deleted === undefined) errors.add('deleted', `must be ${deletedRecords.join(' or ')}`)
  return deleted
}

/** The part of a cache key for the parameter `deleted`. No name of a parameter contains "=". */
export const deletedKey = (deleted: DeletedRecords): string => `&deleted=${deleted}`

function readInteger(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
  errors: FieldErrors,
  hint = '',
): number | undefined {
  if (text === undefined) return undefined
  const integer = /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
  if (integer >= min && integer <= max) return integer
  errors.add(name, `must be an integer from ${min} to ${max}${hint}`)
  return undefined
}
