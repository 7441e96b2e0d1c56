import { withPasswordsHashed } from './body-passwords'
import { create, requireOneRecord, respondCreated, segmentOf } from './create'
import { requireNoDryRun } from './dry-run'
import { importFormat } from './import'
import { prepareWriteIncludes } from './included-item'
import { callRelatedRules } from './related-rules'
import type { BodyAction } from './service'
import { prepareUpsert, upsertRecord } from './upsert'
import { importUpserts, upsertMany } from './upsert-many'
import { readBodies, savedResponse } from './write-body'
import { runWrites } from './write-records'

/** POST on a collection: with `on_conflict` it updates the record that has the same values, if there is one. */
export const createOrUpdate: BodyAction = async (service, request) => {
  const { store, collection } = request
  const upsert = await prepareUpsert(request)
  if (upsert === undefined) return create(service, request)
  const including = await prepareWriteIncludes(service, request)
  if (importFormat(request) !== undefined) requireOneRecord(including)
  return async (file) => {
    if (file !== undefined) {
      await callRelatedRules(request)
      return importUpserts(service, request, file, upsert)
    }
    const body = await readBodies(service, request)
    await callRelatedRules(request, [body].flat())
    if (!('size' in body)) {
      requireOneRecord(including)
      return upsertMany(service, request, body, upsert)
    }
    requireNoDryRun(request)
    const hashed = await withPasswordsHashed(service, request, () => [{ body }])
    const { isNew, record } = await runWrites(hashed, (inner) => upsertRecord(service, inner, body, upsert))
    if (isNew) return respondCreated(request, record, upsert.creation, including)
    const path = `${collection}${segmentOf(store, record.raw)}/`
    return including(savedResponse(200, record, { 'Content-Location': path }), store.readKey(record.raw))
  }
}
