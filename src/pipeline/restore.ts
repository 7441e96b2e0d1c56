import { retryOnce } from '../connection/retry'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import { ownerKey } from '../query/owner'
import { bytesOf } from '../read/row-bytes'
import { restoreRow } from '../write/write'
import { prepareWriteIncludes } from './included-item'
import { notFound, requirePreconditions, requireRow } from './item'
import type { Action } from './service'
import { savedResponse } from './write-body'

/**
 * POST on the path `restore` of an item (specification: Restoring records). A record that the principal may not restore is
 * 404, like one that does not exist: the principal cannot see it.
 */
export const restore: Action = async (service, request) => {
  const { store, session, principal } = request
  const { view } = store
  const including = await prepareWriteIncludes(service, request)
  if (store.policies?.permits(view, 'restore') === false) {
    throw new ApiError('forbidden', `you may not restore this ${view.name}`)
  }
  const restored = await retryOnce(session, async () => {
    const { raw, key } = await requireRow({ ...request, deleted: 'only' }, session)
    requirePreconditions(request, raw)
    request.responseMemory().reserve(bytesOf(raw))
    const requireUnchanged = (locked: RawRow): void => requirePreconditions(request, locked)
    return restoreRow(session, store, { action: 'restore', key, owner: ownerKey(view, principal), requireUnchanged })
  })
  if (restored === undefined) throw notFound(request)
  return including(savedResponse(200, restored), store.readKey(restored.raw))
}
