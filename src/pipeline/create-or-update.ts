import { ApiError } from '../errors'
import { create, respondCreated, segmentOf } from './create'
import { requireNoDryRun } from './dry-run'
import { importFormat } from './import'
import { prepareWriteIncludes, withoutIncludes } from './included-item'
import { callRelatedRules } from './related-rules'
import type { Action } from './service'
import { prepareUpsert, upsertRecord } from './upsert'
import { importUpserts, upsertMany } from './upsert-many'
import { readBodies, savedResponse } from './write-body'
import { runWrites } from './write-records'

/** POST on a collection: with `on_conflict` it updates the record that has the same values, if there is one. */
export const createOrUpdate: Action = async (service, request) => {
  const { store, collection } = request
  const upsert = await prepareUpsert(request)
  if (upsert === undefined) return create(service, request)
  const including = await prepareWriteIncludes(service, request)
  const format = importFormat(request)
  const body = format === undefined ? await readBodies(service, request) : []
  await callRelatedRules(request, format === undefined ? [body].flat() : undefined)
  if (!('size' in body)) {
    if (including !== withoutIncludes) throw new ApiError('bad-query', 'include is not possible for several records')
    return format === undefined
      ? upsertMany(service, request, body, upsert)
      : importUpserts(service, request, format, upsert)
  }
  requireNoDryRun(request)
  const { isNew, record } = await runWrites(request, (inner) => upsertRecord(service, inner, body, upsert))
  if (isNew) return respondCreated(request, record, upsert.creation, including)
  const path = `${collection}${segmentOf(store, record.raw)}/`
  return including(savedResponse(200, record, { 'Content-Location': path }), store.readKey(record.raw))
}
