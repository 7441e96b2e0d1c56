import type { DbTransaction } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import type { Presets } from '../query/presets'
import { toRecords } from '../read/after-load'
import type { Store } from '../read/store'
import type { Body } from '../request/body'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import { insertRows } from '../write/write-rows'
import { isDryRun } from './dry-run'
import { prepareRecords } from './prepare-records'
import { toText } from './render-records'
import type { PermittedRequest, Service } from './service'
import { type RecordsWriter, recordsOf, type WrittenRecords, writeRecords } from './write-records'

/**
 * Creates the records of an array, in order, in one transaction (specification: Bulk writes).
 * @throws {ApiError} `body-too-large` if the response would exceed `limits.itemBytes`; then nothing is stored
 */
export async function createMany(
  service: Service,
  request: PermittedRequest,
  bodies: readonly Body[],
  presets: Presets,
): Promise<HttpResponse> {
  const { store } = request
  const objects: string[] = []
  let bytes = 0
  const written = await writeRecords(service, request, {
    records: recordsOf(bodies),
    begin: () => {
      objects.length = 0
      bytes = 0
    },
    write: insertGroups(service, presets, async (session, rows) => {
      if (rows.length === 0 || isDryRun(request)) return
      const text = await renderRows(session, store, rows)
      bytes += Buffer.byteLength(text)
      requireResponseSize(service, bytes)
      request.responseMemory().reserve(bytes)
      objects.push(text)
    }),
  })
  const body = `{"meta":${JSON.stringify(createdMeta(request, written))},"objects":[${objects.join()}]}`
  return jsonResponse(written.isDry ? 200 : 201, body)
}

/** @throws {ApiError} `body-too-large` */
function requireResponseSize({ limits: { itemBytes } }: Service, bytes: number): void {
  if (bytes <= itemBytes) return
  const detail = `the response would have more than ${itemBytes} bytes (limits.itemBytes): send fewer records`
  throw new ApiError('body-too-large', detail)
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
