import { createReadStream, createWriteStream } from 'node:fs'
import { rename, truncate } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse/sync'
import { mediaTypes } from '../../request/formats'
import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'
import { ended } from './ended'
import { createState, isMissing, removeFile, statePath, takeState, writeState } from './files'
import { counted, countOf, nothing, report, secondsSince, startProgress, type Transferred } from './progress'
import { recordsOf } from './records'
import { connectionError, type Service } from './service'

/** An export of a resource. */
export interface Export {
  readonly service: Service
  /** URL of the resource, with the query. */
  readonly url: URL
  readonly format: ListFormat
  readonly signal: AbortSignal
}

/**
 * Writes the records of a resource to the standard output.
 * @returns the message for the user; undefined if the output was closed
 * @throws {CommandError}
 */
export async function exportToOutput(transfer: Export): Promise<string | undefined> {
  const start = performance.now()
  let hasBegun = false
  try {
    const body = await requestBody(transfer)
    hasBegun = true
    const { records } = await write(transfer, body, process.stdout, nothing)
    return `${countOf(records)} exported in ${secondsSince(start)}`
  } catch (error) {
    // The reader has closed the pipe, for example `head`.
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return undefined
    throw ended(error, transfer.signal, hasBegun ? 'The output is not complete.' : '')
  }
}

/**
 * Writes the records of a resource to `<file>.part`, which is renamed when it is complete. Continues an export that was
 * interrupted.
 * @returns the message for the user
 * @throws {CommandError}
 */
export async function exportToFile(transfer: Export, file: string): Promise<string> {
  const start = performance.now()
  const part = `${file}.part`
  const state = statePath(part)
  let hasBegun = false
  try {
    const stored = await takeState<ExportState>(state)
    const { body, written } =
      (await continueExport(transfer, part, stored)) ?? (await startExport(transfer, part, state, stored))
    hasBegun = true
    const output = createWriteStream(part, { flags: 'a' })
    const { records } = await write(transfer, body, output, written)
    await rename(part, file)
    await removeFile(state)
    return `${countOf(records)} exported to ${file} in ${secondsSince(start)}`
  } catch (error) {
    const advice = isContinuable(transfer.url) ? 'to continue' : 'to start again'
    throw ended(error, transfer.signal, hasBegun ? `${file} is not complete: run the command again ${advice}.` : '')
  }
}

/** The rest of an export, and what is in the file already. */
interface Rest {
  readonly body: AsyncIterable<Buffer>
  readonly written: Transferred
}

/** What is stored of an export. */
interface ExportState {
  readonly url: string
  readonly format: ListFormat
}

/** @param stored of an earlier run; undefined if there was none */
async function startExport(
  transfer: Export,
  part: string,
  state: string,
  stored: ExportState | undefined,
): Promise<Rest> {
  const body = await requestBody(transfer)
  const newState: ExportState = { url: transfer.url.href, format: transfer.format }
  await (stored === undefined ? createState(state, newState) : writeState(state, newState))
  await removeFile(part)
  return { body, written: nothing }
}

/**
 * Continues an export after the last complete record of its file. It requests the records from this one on, and compares the
 * beginning of the response with the file: if they differ, the file cannot be continued.
 * @returns undefined if the export must start again
 */
async function continueExport(
  transfer: Export,
  part: string,
  stored: ExportState | undefined,
): Promise<Rest | undefined> {
  const { service, url, format } = transfer
  if (stored === undefined) return undefined
  const startAgain = (reason: string): undefined => report(`The export starts again: ${reason}`) as undefined
  if (stored.url !== url.href || stored.format !== format) return startAgain(`${part} has other records`)
  if (!isContinuable(url)) return startAgain('with ordering or limit it cannot be continued')
  const kept = await readPart(part, format)
  if (kept === undefined) return undefined
  const rest = new URL(url)
  rest.searchParams.append('id__gte', kept.id)
  const response = await service.send(listRequest({ ...transfer, url: rest }))
  // Keys of several columns, and some types, cannot be compared.
  if (response.status === 400) return startAgain('its key cannot be compared')
  const body = await bodyOf(transfer, response)
  let received: Buffer = Buffer.alloc(0)
  while (received.length < kept.end.length) {
    const { value, done } = await body.next()
    if (done) break
    received = Buffer.concat([received, value])
  }
  if (!received.subarray(0, kept.end.length).equals(kept.end)) {
    await body.return(undefined)
    return startAgain(`the last record in ${part} has changed`)
  }
  await truncate(part, kept.bytes)
  report(`Continuing after ${countOf(kept.records)}`)
  return { body: following(received.subarray(kept.end.length), body), written: kept }
}

/** Whether the records are sorted by their key, so that an export can continue after one of them. */
function isContinuable({ searchParams }: URL): boolean {
  return !searchParams.has('ordering') && !searchParams.has('limit')
}

/** The complete records of an unfinished file. */
interface UnfinishedFile extends Transferred {
  /** The header, if there is one, and the last record: the response to a request for the records from this one on begins so. */
  readonly end: Buffer
  readonly id: string
}

/** @returns undefined if the file has no record */
async function readPart(part: string, format: ListFormat): Promise<UnfinishedFile | undefined> {
  let header: Buffer | undefined
  let last: Buffer | undefined
  let [bytes, records] = [0, 0]
  try {
    for await (const record of recordsOf(createReadStream(part), format, false)) {
      bytes += record.length
      if (format === 'csv' && header === undefined) header = record
      else {
        last = record
        records++
      }
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  if (last === undefined) return undefined
  const end = Buffer.concat([header ?? Buffer.alloc(0), last])
  const [record] = format === 'csv' ? parse(end, { columns: true, bom: true }) : [JSON.parse(last.toString())]
  return { bytes, records, end, id: String(Object(record).id) }
}

async function* following(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* rest
}

const listRequest = ({ url, format }: Pick<Export, 'url' | 'format'>) =>
  ({ method: 'GET', url: url.href, headers: { Accept: mediaTypes[format] }, repeat: 'always' }) as const

const requestBody = async (transfer: Export): Promise<AsyncGenerator<Buffer>> =>
  bodyOf(transfer, await transfer.service.send(listRequest(transfer)))

async function bodyOf({ service, url, format }: Export, response: Response): Promise<AsyncGenerator<Buffer>> {
  if (!response.ok) throw await service.errorOf(response)
  const { body, headers } = response
  if (body === null || !headers.get('Content-Type')?.startsWith(mediaTypes[format])) {
    await body?.cancel()
    throw new CommandError(`${url.pathname} is not available as ${format}: the resource needs the option "formats"`, 1)
  }
  return chunksOf(url, body)
}

async function* chunksOf(url: URL, body: NonNullable<Response['body']>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of Readable.fromWeb(body)) yield chunk
  } catch (error) {
    throw new CommandError(`The service at ${url.origin} ${connectionError(error)}`, 1)
  }
}

/** Writes a body, at the pace of the output. @param before what the output has already */
async function write(
  { format, signal }: Export,
  body: AsyncIterable<Buffer>,
  output: Writable,
  before: Transferred,
): Promise<Transferred> {
  const progress = await startProgress('Exporting')
  let written = before
  const chunks = counted(body, format, before, (transferred) => {
    written = transferred
    progress.show(transferred)
  })
  try {
    await pipeline(chunks, output, { signal, end: output !== process.stdout })
  } finally {
    progress.stop()
  }
  return written
}
