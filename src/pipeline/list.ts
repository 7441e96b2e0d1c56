import { readFromReplica } from '../connection/replica'
import { ApiError, FieldErrors } from '../errors'
import { withDeletedParameter } from '../query/deleted-parameter'
import { parseFieldSelection } from '../query/field-selection'
import { invalidCursorMessage, parseListQuery } from '../query/list-query'
import { areCursorValues } from '../read/keyset'
import { narrowStore } from '../read/store'
import { isCausedByQueryValue } from '../read/unreadable'
import { acceptedFormat } from '../request/formats'
import { parseListRequest } from '../request/list-request'
import { renderEnvelope } from '../response/envelope'
import { type HttpResponse, varyingByAccept } from '../response/http-response'
import { listResponse } from '../response/list-response'
import { listParametersOf } from '../schema/search-fields'
import { respondGroups } from './aggregate-page'
import { requireIncludable } from './include-permission'
import { siblingPathOf } from './included-links'
import { respondStream } from './list-stream'
import { respondLive, wantsEvents } from './live'
import { readListPage } from './page'
import type { Action } from './service'

/** GET on a collection. */
export const list: Action = async (service, permitted) => {
  const { live } = service
  if (live !== undefined && wantsEvents(permitted)) return respondLive(service, live, permitted)
  const { store: fullStore, session, querystring, headers, collection, responseMemory, context } = permitted
  const { view } = fullStore
  const { limits, cursorTokens } = service
  const errors = new FieldErrors()
  const { formats: offered } = view
  const accepted = acceptedFormat(headers, context, offered)
  const optional = withDeletedParameter(listParametersOf(view), querystring, view, fullStore.policies)
  const request = parseListRequest(querystring, optional, limits, errors, { offered, accepted })
  const { aggregation, format } = request
  const finish = (response: HttpResponse): HttpResponse => (offered.length === 0 ? response : varyingByAccept(response))
  if (aggregation !== undefined) return finish(await respondGroups(service, permitted, request, aggregation, errors))
  const query = parseListQuery(view, request, service, errors)
  const store = narrowStore(fullStore, parseFieldSelection(view, request.fields, errors))
  const { values } = query.cursor ?? {}
  if (values !== undefined && !areCursorValues(store, query, values)) errors.add('after', invalidCursorMessage)
  errors.raise('bad-query')
  await store.policies?.checkAccess(query.guardedViews)
  if (query.inclusion !== undefined) await requireIncludable(permitted, query.inclusion)
  const pathOf = siblingPathOf(collection)
  try {
    if (format !== undefined) {
      return await respondStream(service, permitted, store, { ...query, limit: request.limit }, format)
    }
    const page = await readFromReplica(session, (readSession) =>
      readListPage({ session: readSession, store, limits, cursorTokens, responseMemory, pathOf }, query, request),
    )
    return finish(listResponse(renderEnvelope(view, request, page, collection), headers['if-none-match']))
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    throw new ApiError('bad-query', 'the database cannot read the value of a filter, or of "after"')
  }
}
