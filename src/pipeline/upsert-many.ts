import { pause } from '../connection/pauses'
import { ApiError } from '../errors'
import { problemAt } from '../problem'
import type { Body } from '../request/body'
import type { ImportFile } from '../request/import-records'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import type { Json } from '../value/value-type'
import { recordsOfImport } from './import'
import type { PermittedRequest, Service } from './service'
import { type Upsert, upsertRecord } from './upsert'
import { type RecordsWriter, recordsOf, writeRecords } from './write-records'

/** Updates or creates the records of an array, in order, in one transaction (specification: Upserts). */
export async function upsertMany(
  service: Service,
  request: PermittedRequest,
  bodies: readonly Body[],
  upsert: Upsert,
): Promise<HttpResponse> {
  const ids: Json[] = []
  const meta = await writeUpserts(service, request, upsert, recordsOf(bodies), ids)
  // Only the ids: stored records may be much larger than the body.
  const objects = 'dry_run' in meta ? [] : ids.map((id) => ({ id }))
  return jsonResponse(200, JSON.stringify({ meta, objects }))
}

/** Updates or creates the records of a file, in one transaction (specification: Upserts, Imports). */
export async function importUpserts(
  service: Service,
  request: PermittedRequest,
  file: ImportFile,
  upsert: Upsert,
): Promise<HttpResponse> {
  const records = recordsOfImport(service, request, file)
  const meta = await writeUpserts(service, request, upsert, records)
  return jsonResponse(200, JSON.stringify({ meta }))
}

/**
 * Updates or creates records one after the other, in one transaction. After an error it continues, to find the errors of the
 * other records.
 * @param ids receives the ids of the records. Default: they are not needed
 * @returns `meta` of the response
 * @throws {ApiError} for every refusal, with the errors of all records
 */
async function writeUpserts(
  service: Service,
  request: PermittedRequest,
  upsert: Upsert,
  records: RecordsWriter['records'],
  ids?: Json[],
): Promise<object> {
  const { resource, store } = request
  let counts = { created: 0, updated: 0 }
  const { isDry } = await writeRecords(service, request, {
    records,
    // Each record takes several statements, and many more with related records.
    groupSize: store.view.nested().size > 0 ? 1 : 50,
    begin: () => {
      counts = { created: 0, updated: 0 }
      ids?.splice(0)
    },
    write: async (inner, group, errors) => {
      for (const { body, position } of group) {
        try {
          const { isNew, record } = await upsertRecord(service, inner, body, upsert)
          counts[isNew ? 'created' : 'updated']++
          ids?.push(store.renderKey(record.raw))
        } catch (error) {
          if (!(error instanceof ApiError)) throw problemAt(error, errors.at(position))
          if (error.code === 'unavailable') throw error
          errors.at(position).addRefusal(error)
        }
        // 50 records of a table with 60 columns, each with other fields, take 100 ms on SQLite, whose driver is synchronous.
        // `inner` is in the transaction, whose work has every second turn.
        await pause(inner.session)
      }
    },
  })
  return { model: resource.name, ...counts, ...(isDry && { dry_run: true }) }
}
