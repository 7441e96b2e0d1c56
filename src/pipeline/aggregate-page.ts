import { readFromReplica } from '../connection/replica'
import { violationOf } from '../dialect/dialect-of'
import { ApiError, type FieldErrors } from '../errors'
import { parseAggregateQuery } from '../query/aggregate-query'
import { readGroups } from '../read/aggregate'
import { sumOutOfRange } from '../read/aggregate-sql'
import { checkAggregates } from '../read/check-aggregates'
import type { Aggregation } from '../request/aggregation'
import type { ListRequest } from '../request/list-request'
import { renderEnvelope } from '../response/envelope'
import type { HttpResponse } from '../response/http-response'
import { listResponse } from '../response/list-response'
import { numberLinks } from './page-links'
import type { PermittedRequest, Service } from './service'

/**
 * Responds with a page of groups.
 * @param errors the errors of the query string
 * @throws {ApiError} `bad-query`
 */
export async function respondGroups(
  { limits }: Service,
  { store, session, headers, collection }: PermittedRequest,
  request: ListRequest,
  aggregation: Aggregation,
  errors: FieldErrors,
): Promise<HttpResponse> {
  const { view, dataSource } = store
  const query = parseAggregateQuery(view, request, aggregation, limits, errors)
  checkAggregates(store, query, errors)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  try {
    const groups = await readFromReplica(session, (readSession) => readGroups(readSession, store, query))
    const { limit } = request
    const text = renderEnvelope(
      view,
      request,
      {
        records: groups.slice(0, limit),
        ...numberLinks(request, groups.length > limit),
        total: undefined,
      },
      collection,
    )
    return listResponse(text, headers['if-none-match'])
  } catch (error) {
    if (violationOf(error, dataSource, view.metadata) === undefined) throw error
    throw new ApiError('bad-query', sumOutOfRange)
  }
}
