import type { FieldErrors } from '../errors'
import type { Limits } from './limits'
import { readPairs, readSingle } from './list-request'

/**
 * Parses the parameter `on_conflict` of a POST (specification: Upserts).
 * @param errors receives the error of a parameter that is given twice
 * @returns the names in the parameter; undefined without it
 * @throws {ApiError} `bad-query` if the query string cannot be decoded or exceeds a limit
 */
export function parseOnConflict(
  querystring: string,
  limits: Limits,
  errors: FieldErrors,
): readonly string[] | undefined {
  if (querystring === '') return undefined
  return readSingle(readPairs(querystring, limits), 'on_conflict', errors)?.split(',')
}
