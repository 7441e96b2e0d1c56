import { FieldErrors } from '../errors'
import { type ItemRequest, readItemIncludes, wholeItem } from './item-request'
import { requireKnownParameters } from './known-parameters'
import type { Limits } from './limits'
import { readPairs, readSingle } from './list-request'

/** Parameters of a POST on a collection, or of a write of one record. */
export interface WriteParameters {
  /** Names in `on_conflict` (specification: Upserts); undefined without the parameter. */
  readonly onConflict: readonly string[] | undefined
  /** Whether a POST of several records only checks them (specification: Imports). */
  readonly dryRun: boolean
  /** The related records that the response includes. */
  readonly included: ItemRequest
}

/** The parameters of a write without a query string, and of other requests. */
export const noWriteParameters: WriteParameters = { onConflict: undefined, dryRun: false, included: wholeItem }

/**
 * Parses the query string of a POST on a collection, or of a write of one record.
 * @param isCreation whether it is a POST on a collection, which can have `on_conflict` and `dry_run`
 * @param canInclude whether it can have `include`
 * @throws {ApiError} `bad-query`, also for parameters of other requests
 */
export function parseWriteParameters(
  querystring: string,
  { isCreation, canInclude }: { readonly isCreation: boolean; readonly canInclude: boolean },
  limits: Limits,
): WriteParameters {
  if (querystring === '') return noWriteParameters
  const pairs = readPairs(querystring, limits)
  const errors = new FieldErrors()
  const known = [...(isCreation ? ['on_conflict', 'dry_run'] : []), ...(canInclude ? ['include'] : [])]
  requireKnownParameters(pairs, known, errors)
  const single = (name: string): string | undefined =>
    known.includes(name) ? readSingle(pairs, name, errors) : undefined
  const onConflict = single('on_conflict')?.split(',')
  const dryRun = single('dry_run') ?? 'false'
  if (dryRun !== 'true' && dryRun !== 'false') errors.add('dry_run', 'must be true or false')
  const included = { ...wholeItem, ...readItemIncludes(single('include'), limits, errors) }
  errors.raise('bad-query')
  return { onConflict, dryRun: dryRun === 'true', included }
}
