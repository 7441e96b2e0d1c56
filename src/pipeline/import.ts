import { clientName } from '../access/client-network'
import type { FieldErrors } from '../errors'
import { bodyOfCells, checkCsvNames } from '../query/csv-row'
import type { Presets } from '../query/presets'
import { requireFewValues } from '../request/body-values'
import { mediaTypes } from '../request/formats'
import { type ImportFile, importedRecords } from '../request/import-records'
import { spoolBody } from '../request/spool'
import type { ListFormat } from '../resource'
import { minCountedLength } from '../response/held-bytes'
import { type HttpResponse, jsonResponse } from '../response/http-response'
import { createdMeta, insertGroups } from './create-many'
import type { PermittedRequest, ResourceRequest, Service } from './service'
import { type ReceivedRecord, type RecordsWriter, writeRecords } from './write-records'

/** The format of an import, from the content type of its request; undefined for any other body. */
export function importFormat({ resource, method, segment, headers }: ResourceRequest): ListFormat | undefined {
  if (resource.bulk === 0 || method !== 'POST' || segment !== undefined) return undefined
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  return (['ndjson', 'csv'] as const).find((format) => mediaTypes[format] === type)
}

/** Creates the records of a file, in one transaction (specification: Imports). */
export async function importRecords(
  service: Service,
  request: PermittedRequest,
  file: ImportFile,
  presets: Presets,
): Promise<HttpResponse> {
  const records = recordsOfImport(service, request, file)
  const written = await writeRecords(service, request, { records, write: insertGroups(service, presets) })
  return jsonResponse(written.isDry ? 200 : 201, JSON.stringify({ meta: createdMeta(request, written) }))
}

/** The records of an import. */
export function recordsOfImport(
  service: Service,
  request: PermittedRequest,
  file: ImportFile,
): RecordsWriter['records'] {
  return (...args) => receivedRecords(service, request, file, ...args)
}

/**
 * Receives the body of an import, and frees it after `work`. The import counts as running when its body has arrived: otherwise,
 * slow clients could keep all others from importing.
 * @throws {ApiError} `unavailable`, `body-too-large`, `bad-body`
 */
export async function withImportFile<T>(
  { imports, spooledBytes, limits }: Service,
  request: PermittedRequest,
  format: ListFormat,
  work: (file: ImportFile) => Promise<T>,
): Promise<T> {
  const client = clientName(request.session)
  imports.requirePlace(client)
  const memory = request.responseMemory()
  const onBuffered = (bytes: number): void => {
    if (bytes >= minCountedLength) memory.receive(bytes)
  }
  let held = 0
  const onPart = (bytes: number): void => {
    spooledBytes.add(client, bytes)
    held += bytes
  }
  try {
    memory.noteWaiting(true)
    const spool = await spoolBody(request.openBody(), limits, { onBuffered, onPart })
    memory.noteWaiting(false)
    return await imports.run(client, () => work({ ...spool, format })).finally(() => spool.close())
  } finally {
    spooledBytes.remove(client, held)
  }
}

/** The records of a file. Those of CSV are built from cells. */
async function* receivedRecords(
  { limits, escapeFormulas }: Service,
  { store: { view } }: PermittedRequest,
  file: ImportFile,
  errors: FieldErrors,
  requireTime: () => void,
): AsyncGenerator<ReceivedRecord> {
  let hasNames = false
  for await (const { line, length, members } of importedRecords(file, limits, requireTime)) {
    const position = { line }
    if (file.format !== 'csv') yield { body: members, position, length }
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
