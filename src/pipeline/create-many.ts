import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import type { Presets } from '../query/presets'
import { toRecords } from '../read/after-load'
import type { Store } from '../read/store'
import type { Body } from '../request/body'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import { insertRows } from '../write/write-rows'
import { prepareRecords } from './prepare-records'
import { toText } from './render-records'
import type { PermittedRequest, Service } from './service'
import { type RecordsWriter, recordsOf, type WrittenRecords, writeRecords } from './write-records'

/** Creates the records of an array, in order, in one transaction (specification: Bulk writes). */
export async function createMany(
  service: Service,
  request: PermittedRequest,
  bodies: readonly Body[],
  presets: Presets,
): Promise<HttpResponse> {
  const objects: string[] = []
  const written = await writeRecords(service, request, {
    records: recordsOf(bodies),
    begin: () => void objects.splice(0),
    write: insertGroups(service, presets, async (session, rows) => {
      if (rows.length > 0) objects.push(await renderRows(session, request.store, rows))
    }),
  })
  const { isDry } = written
  const body = `{"meta":${JSON.stringify(createdMeta(request, written))},"objects":[${isDry ? '' : objects.join()}]}`
  return jsonResponse(isDry ? 200 : 201, body)
}

/** `meta` of the response to a POST of several records. */
export function createdMeta({ resource }: PermittedRequest, { count, isDry }: WrittenRecords): object {
  return { model: resource.name, created: count, ...(isDry && { dry_run: true }) }
}

/**
 * Returns a function that inserts groups of records.
 * @param keep receives the stored rows of each group, in the transaction. Default: they are not needed
 */
export function insertGroups(
  service: Service,
  presets: Presets,
  keep?: (session: DbTransaction, rows: readonly RawRow[]) => Promise<void>,
): RecordsWriter['write'] {
  return async (request, group, errors, previous) => {
    const prepared = await prepareRecords(service, request, group, presets, errors, previous)
    if (!errors.isEmpty) return
    const { session, store } = request
    const rows = await insertRows(session, store, prepared, errors).catch(keepErrors)
    await keep?.(session, rows)
  }
}

/** Handler for the refusal of some records. Their errors are reported later, together with the errors of other records. */
function keepErrors(error: unknown): readonly RawRow[] {
  if (!(error instanceof ApiError) || error.details.errors === undefined) throw error
  return []
}

/** Renders stored rows as JSON: the members of an array, separated by commas. */
async function renderRows(session: DbTransaction, store: Store, rows: readonly RawRow[]): Promise<string> {
  return toText(await toRecords(session, store, rows))
}
