import type { FieldErrors } from '../errors'
import type { OptionalName } from '../schema/list-parameters'
import { includesKey } from './include'
import { requireKnownParameters } from './known-parameters'
import type { Limits } from './limits'
import {
  countFilters,
  deletedKey,
  type ListRequest,
  readDeleted,
  readIncludes,
  readPairs,
  readSingle,
  requireFilterCount,
} from './list-request'

/** What a request on an item selects: fields, related records, and whether it may be soft-deleted. */
export type ItemRequest = Pick<ListRequest, 'fields' | 'includes' | 'deleted' | 'cacheKey'>

/** Optional parameters that a GET of an item can have. */
const itemParameters = ['fields', 'include', 'deleted'] as const

/** Item request without parameters. */
export const wholeItem: ItemRequest = { fields: undefined, includes: [], deleted: undefined, cacheKey: '' }

/**
 * Parses the query string of a request on an item. Its parameters are those of `fields`, `include` and `deleted` that are
 * optional parameters.
 * @throws {ApiError} `bad-query` if the query string cannot be decoded or exceeds a limit
 */
export function parseItemRequest(
  querystring: string,
  optional: ReadonlySet<OptionalName>,
  limits: Limits,
  errors: FieldErrors,
): ItemRequest {
  if (querystring === '') return wholeItem
  const pairs = readPairs(querystring, limits)
  requireKnownParameters(
    pairs,
    itemParameters.filter((name) => optional.has(name)),
    errors,
  )
  const readOptional = (name: (typeof itemParameters)[number]): string | undefined =>
    optional.has(name) ? readSingle(pairs, name, errors) : undefined
  const fields = readOptional('fields')?.split(',')
  const { includes, cacheKey } = readItemIncludes(readOptional('include'), limits, errors)
  const deleted = readDeleted(readOptional('deleted'), errors)
  return { fields, includes, deleted, cacheKey: deleted === undefined ? cacheKey : cacheKey + deletedKey(deleted) }
}

/**
 * Parses the parameter `include` of a request on one record.
 * @throws {ApiError} `bad-query` if it exceeds a limit
 */
export function readItemIncludes(
  text: string | undefined,
  limits: Limits,
  errors: FieldErrors,
): Pick<ItemRequest, 'includes' | 'cacheKey'> {
  const includes = readIncludes(text, limits, errors)
  requireFilterCount(countFilters(includes), limits)
  return { includes, cacheKey: `item&include=${includesKey(includes)}` }
}

/** List request for one record. */
export const oneRecord: Omit<ListRequest, keyof ItemRequest> = {
  filters: [],
  where: [],
  ordering: [],
  limit: 1,
  page: 1,
  after: undefined,
  count: undefined,
  search: [],
  aggregation: undefined,
  format: undefined,
  repeated: '',
}
