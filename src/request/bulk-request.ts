import type { FieldErrors } from '../errors'
import type { OptionalName } from '../schema/list-parameters'
import type { Limits } from './limits'
import { type ListRequest, parseListRequest } from './list-request'
import { parsePairs } from './pairs'

/** Which records PATCH or DELETE on a collection writes. */
export interface BulkRequest {
  /** The filters, as those of a list without any other parameter. */
  readonly list: ListRequest
  /** Maximum number of records that may match. */
  readonly max: number
}

/** Parameters of every page, which a write of several records does not have. */
const pageParameters: ReadonlySet<string> = new Set(['ordering', 'limit', 'page'])

/**
 * Parses the query string of PATCH or DELETE on a collection (specification: Bulk writes).
 * @param optional the optional parameters of the list
 * @param maxRecords maximum value of `max`, and its default
 * @param hasMaxField whether the resource has a field `max`, for which the parameter could be mistaken
 * @param errors receives the errors of single parameters
 * @throws {ApiError} `bad-query` if the query string cannot be decoded or exceeds a limit
 */
export function parseBulkRequest(
  querystring: string,
  optional: ReadonlySet<OptionalName>,
  maxRecords: number,
  hasMaxField: boolean,
  limits: Limits,
  errors: FieldErrors,
): BulkRequest {
  const filters: string[] = []
  const maxima: string[] = []
  for (const { name, value, raw } of parsePairs(querystring, limits.parameters, 'bad-query')) {
    const isParameter = pageParameters.has(name) || (optional as ReadonlySet<string>).has(name)
    if (name === 'max' && hasMaxField) {
      errors.add(name, 'may mean the field or the parameter: write max__eq for the field')
    } else if (name === 'max') maxima.push(value)
    else if (isParameter && name !== 'search') {
      errors.add(name, `is not possible for a write of several records${name === 'limit' ? '; use max' : ''}`)
    } else filters.push(raw)
  }
  const isSearchable = optional.has('search')
  const list = parseListRequest(filters.join('&'), new Set(isSearchable ? ['search'] : []), limits, errors)
  if (list.where.length === 0 && list.search.length === 0) {
    errors.add(
      'the query',
      `needs a filter${isSearchable ? ' or a search' : ''}, so that not all records are written by mistake`,
    )
  }
  return { list, max: readMax(maxima, maxRecords, errors) }
}

function readMax([text, ...others]: readonly string[], maxRecords: number, errors: FieldErrors): number {
  if (text === undefined) return maxRecords
  const max = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN
  if (others.length === 0 && max <= maxRecords) return max
  errors.add('max', others.length > 0 ? 'is given twice' : `must be an integer from 1 to ${maxRecords}`)
  return maxRecords
}
