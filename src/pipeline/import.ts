import type { FieldErrors } from '../errors'
import { bodyOfCells, checkCsvNames } from '../query/csv-row'
import type { Presets } from '../query/presets'
import { requireFewValues } from '../request/body-values'
import { mediaTypes } from '../request/formats'
import { importedRecords } from '../request/import-records'
import { type Spool, spoolBody } from '../request/spool'
import type { ListFormat } from '../resource'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import { clientOf } from './client'
import { createdMeta, insertGroups } from './create-many'
import type { PermittedRequest, Service } from './service'
import { type ReceivedRecord, type RecordsWriter, writeRecords } from './write-records'

/** The format of an import, from the content type of its request; undefined for any other body. */
export function importFormat({ resource, headers }: PermittedRequest): ListFormat | undefined {
  if (resource.bulk === 0) return undefined
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  return (['ndjson', 'csv'] as const).find((format) => mediaTypes[format] === type)
}

/** Creates the records of a file, in one transaction (specification: Imports). */
export async function importRecords(
  service: Service,
  request: PermittedRequest,
  format: ListFormat,
  presets: Presets,
): Promise<HttpResponse> {
  const written = await withRecords(service, request, format, (records) =>
    writeRecords(service, request, { records, write: insertGroups(service, presets) }),
  )
  return jsonResponse(written.isDry ? 200 : 201, JSON.stringify({ meta: createdMeta(request, written) }))
}

/** Receives the body of an import, and frees it after `work`, which receives its records. */
export function withRecords<T>(
  service: Service,
  request: PermittedRequest,
  format: ListFormat,
  work: (records: RecordsWriter['records']) => Promise<T>,
): Promise<T> {
  return withSpool(service, request, (spool) =>
    work((...args) => receivedRecords(service, request, spool, format, ...args)),
  )
}

/** Receives the body of an import, unless the request has it already, and frees it after `work`. */
export async function withSpool<T>(
  { imports, limits }: Service,
  request: PermittedRequest,
  work: (spool: Spool) => Promise<T>,
): Promise<T> {
  const { spool: received, openBody } = request
  if (received !== undefined) return work(received)
  return imports.run(clientOf(request), async () => {
    const spool = await spoolBody(openBody(), limits.importBytes, limits.streamStall)
    try {
      return await work(spool)
    } finally {
      await spool.close()
    }
  })
}

/** The records of a file. Those of CSV are built from cells. */
async function* receivedRecords(
  { limits, escapeFormulas }: Service,
  { store: { view } }: PermittedRequest,
  spool: Spool,
  format: ListFormat,
  errors: FieldErrors,
  requireTime: () => void,
): AsyncGenerator<ReceivedRecord> {
  let hasNames = false
  for await (const { line, length, members } of importedRecords(spool.read(), format, limits, requireTime)) {
    const position = { line }
    if (format !== 'csv') yield { body: members, position, length }
    else {
      if (!hasNames) checkCsvNames(view, members.keys(), errors.at({ line: 1 }))
      if (!hasNames && !errors.isEmpty) return
      hasNames = true
      const body = bodyOfCells(view, members, escapeFormulas, limits.bodyValues, errors.at(position))
      // A cell can contain JSON.
      requireFewValues([...body.values()], limits.bodyValues, { subject: `line ${line}` })
      yield { body, position, length }
    }
  }
}
