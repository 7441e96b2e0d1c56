import { retryOnce } from '../connection/retry'
import type { ApiError } from '../errors'
import { emptyResponse } from '../response/http-response'
import { deleteRow } from '../write/write'
import { createAtPath } from './create-at-path'
import { prepareWriteIncludes } from './included-item'
import { notFound, requireWriteTarget } from './item'
import { prepareBody } from './nested/nested-body'
import { newKeyFieldsOf } from './new-key-fields'
import type { Action, BodyAction, PermittedRequest } from './service'
import { readAndUpdate, updateInOneStatement } from './update'
import { readBody, savedResponse } from './write-body'

/** PUT and PATCH on an item. */
export const update: BodyAction = async (service, request) => {
  const newKey = newKeyFieldsOf(request)
  if (newKey !== undefined) return createAtPath(service, request, newKey)
  const including = await prepareWriteIncludes(service, request)
  return async () => {
    const body = await prepareBody(service, request, await readBody(service, request))
    const updated = await retryOnce(
      request.session,
      async () => (await updateInOneStatement(request, body)) ?? readAndUpdate(service, request, body),
    )
    if (updated === undefined) throw await refusalOf(request, 'update')
    return including(savedResponse(200, updated), request.store.readKey(updated.raw))
  }
}

/** DELETE on an item. */
export const remove: Action = async (_service, request) => {
  const { store, session } = request
  const isRemoved = await retryOnce(session, async () => {
    const { target } = await requireWriteTarget(request, 'delete')
    return deleteRow(session, store, target)
  })
  if (!isRemoved) throw await refusalOf(request, 'delete')
  return emptyResponse()
}

/**
 * The refusal of a write whose target was deleted, or got another owner or state, after it was checked.
 * @throws {ApiError} the refusal itself, if the record still exists
 */
export async function refusalOf(request: PermittedRequest, action: 'update' | 'delete'): Promise<ApiError> {
  await requireWriteTarget(request, action)
  return notFound(request)
}
