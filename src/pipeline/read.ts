import { readFromReplica } from '../connection/replica'
import { FieldErrors } from '../errors'
import { withDeletedParameter } from '../query/deleted-parameter'
import { parseFieldSelection } from '../query/field-selection'
import { afterLoad } from '../read/after-load'
import { renderStored } from '../read/entity-tag'
import { bytesOf } from '../read/row-bytes'
import { narrowStore } from '../read/store'
import { parseItemRequest } from '../request/item-request'
import type { Limits } from '../request/limits'
import { holdsIfNoneMatch } from '../request/preconditions'
import { minCountedLength } from '../response/held-bytes'
import { type HttpResponse, jsonResponse, notModifiedResponse } from '../response/http-response'
import { listResponse } from '../response/list-response'
import { parseIncludedItem } from './included-item'
import { notFound, requireIfMatch } from './item'
import { readItem } from './limited-read'
import { respondLive, wantsEvents } from './live'
import type { Action, PermittedRequest, ReadRequest } from './service'

export const read: Action = async (service, request) => {
  const { live } = service
  if (live !== undefined && wantsEvents(request)) return respondLive(service, live, request)
  const { limits } = service
  const { store, querystring, headers } = request
  const { view } = store
  const errors = new FieldErrors()
  const optional = withDeletedParameter(view.optionalParameters, querystring, view, store.policies)
  const itemRequest = parseItemRequest(querystring, optional, limits, errors)
  const { deleted } = itemRequest
  const selection = parseFieldSelection(view, itemRequest.fields, errors)
  const shownStore = narrowStore(store, selection)
  if (itemRequest.includes.length === 0) {
    errors.raise('bad-query')
    // The request is not copied without a selection: a spread took a sixth of the time of a GET of an item.
    const reading = deleted === undefined ? request : { ...request, deleted }
    if (selection === undefined) return readStored(reading, limits, true)
    await requireMatch(reading, limits)
    return readStored({ ...reading, store: shownStore }, limits, false)
  }
  const included = await parseIncludedItem(service, request, {
    itemRequest,
    shownStore,
    errors,
    readFrom: readFromReplica,
  })
  await requireMatch({ ...request, deleted }, limits)
  const text = await included.read()
  if (text === undefined) throw notFound(request)
  return listResponse(text, headers['if-none-match'])
}

/** @param isWhole whether the record has all its fields, so that its ETag is the one that `If-Match` refers to */
async function readStored(request: ReadRequest, limits: Limits, isWhole: boolean): Promise<HttpResponse> {
  const { store, session, headers, responseMemory } = request
  const { view, selected, rawRenderer, rowRenderer } = store
  const raw = await readFromReplica(session, (readSession) => readItem(readSession, request, limits))
  const { json, tag } = renderStored(rawRenderer, raw)
  if (isWhole) requireIfMatch(store, headers['if-match'], tag)
  if (!holdsIfNoneMatch(headers['if-none-match'], tag)) return notModifiedResponse(tag)
  if (!view.lifecycle.load) return jsonResponse(200, json, { ETag: tag })
  // Listeners may be slow: the memory of a long row is counted while they run.
  const bytes = bytesOf(raw)
  if (bytes >= minCountedLength) responseMemory().reserve(bytes)
  const row = selected.columns.readRow(raw)
  const [loaded = row] = await afterLoad(session, view, [row])
  return jsonResponse(200, JSON.stringify(rowRenderer.toRecord(loaded)), { ETag: tag })
}

/**
 * Compares `If-Match` with the ETag of the record with all its fields: other ETags do not identify a state of the record.
 * @throws {ApiError} `precondition-failed`, `not-found`, `record-too-large`, `unavailable`
 */
async function requireMatch(request: PermittedRequest, limits: Limits): Promise<void> {
  const { store, session, headers } = request
  const { 'if-match': ifMatch } = headers
  if (ifMatch === undefined) return
  const raw = await readFromReplica(session, (readSession) => readItem(readSession, request, limits))
  requireIfMatch(store, ifMatch, renderStored(store.rawRenderer, raw).tag)
}
