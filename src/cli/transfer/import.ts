import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mediaTypes } from '../../request/formats'
import type { ListFormat } from '../../resource'
import { CommandError, messageOf } from '../command-error'
import { ended } from './ended'
import { createState, readFileSize, readState, removeFile, statePath, takeState, writeState } from './files'
import { buildOmission } from './omit'
import { type Position, partsOf, startOfFile } from './parts'
import { counted, countOf, nothing, report, secondsSince, startProgress } from './progress'
import { recordsOf } from './records'
import { isRunning, type Service, type ServiceRequest } from './service'

/** An import of a file. */
export interface Import {
  readonly service: Service
  /** URL of the resource, with `on_conflict`. */
  readonly url: URL
  readonly format: ListFormat
  /** Fields of the file that are not sent. */
  readonly omit: ReadonlySet<string>
  /** Whether the service only checks the records. */
  readonly isDry: boolean
  readonly signal: AbortSignal
}

/** Numbers of records that the service has written. */
interface Counts {
  readonly created: number
  readonly updated: number
}

/**
 * Sends a file with one request, which is one transaction.
 * @param file undefined for the standard input
 * @returns the message for the user
 * @throws {CommandError}
 */
export async function importWhole(transfer: Import, file: string | undefined): Promise<string> {
  const { service, format, signal, isDry } = transfer
  const start = performance.now()
  if (file !== undefined) await requireNotBegun(file)
  const progress = await startProgress('Importing', file === undefined ? undefined : await readFileSize(file))
  // The service does not write before it has received the whole body.
  let mayBeWritten = false
  async function* body(): AsyncGenerator<Buffer> {
    mayBeWritten = false
    const chunks = withoutFields(transfer, file === undefined ? process.stdin : createReadStream(file))
    yield* counted(chunks, format, nothing, progress.show)
    mayBeWritten = !isDry
  }
  const repeat = file === undefined ? 'never' : isDry || isUpsert(transfer) ? 'always' : 'if refused'
  try {
    const response = await service.send({ ...requestOf(transfer), body, repeat })
    if (!response.ok) {
      // A status from 500 does not say whether the transaction was committed.
      if (response.status < 500) mayBeWritten = false
      throw await service.errorOf(response)
    }
    return `${resultOf(await countsOf(response), isDry)} in ${secondsSince(start)}`
  } catch (error) {
    throw ended(error, signal, mayBeWritten ? unknownResult(repeat === 'always') : nothingImported)
  } finally {
    progress.stop()
    // A pipe that stays open would keep the process running after an error.
    if (file === undefined) process.stdin.destroy()
  }
}

const nothingImported = 'Nothing was imported.'

/** @throws {CommandError} if parts of a file may have been imported already, whose records would be created twice */
async function requireNotBegun(file: string): Promise<void> {
  const state = await readState<ImportState>(statePath(file))
  if (state === undefined) return
  const imported =
    state.bytes === 0
      ? `The first part of ${file} may be imported already`
      : `${file} is imported already up to line ${state.lines}`
  throw new CommandError(`${imported}: continue with --batch-size, or delete ${statePath(file)} to import all of it`, 1)
}

/** The bytes of a file without the omitted fields. */
async function* withoutFields({ format, omit }: Import, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (omit.size === 0) return yield* chunks
  const omission = buildOmission(format, omit)
  let records: Buffer[] = []
  let bytes = 0
  for await (const record of recordsOf(chunks, format, true)) {
    records.push(omission.omit(record))
    bytes += record.length
    if (bytes < maxChunkBytes) continue
    yield* chunkOf(records)
    records = []
    bytes = 0
  }
  // Without the end of the body, the service imports nothing.
  omission.requireFound()
  yield* chunkOf(records)
}

/** The bytes of records, if there are any: `fetch` of Node.js never ends a body after an empty chunk. */
function chunkOf(records: readonly Buffer[]): readonly Buffer[] {
  const chunk = Buffer.concat(records)
  return chunk.length === 0 ? [] : [chunk]
}

/** Size of the chunks of a body, as of those that are read from a file. */
const maxChunkBytes = 64 * 1024

function unknownResult(isRepeatable: boolean): string {
  const advice = isRepeatable ? 'run' : 'check whether its records exist before you run'
  return `It is not known whether the file was imported: ${advice} the command again.`
}

/** Progress of an import in parts. */
interface ImportState extends Counts, Position {
  readonly url: string
  /** `Idempotency-Key` of the next part. */
  readonly key: string
}

/**
 * Sends a file in parts. Each of them is one transaction. It can be sent again, because its records are identified by
 * `on_conflict`, or the request by an `Idempotency-Key`. Continues an import that was interrupted.
 * @param batchSize number of the records of a part
 * @returns the message for the user
 * @throws {CommandError}
 */
export async function importInParts(transfer: Import, file: string, batchSize: number): Promise<string> {
  const { service, url, signal, isDry } = transfer
  const start = performance.now()
  const path = statePath(file)
  const size = await readFileSize(file)
  const stored = await (isDry ? readState : takeState)<ImportState>(path)
  let state: ImportState = stored ?? newState(url)
  if (state.url !== url.href) {
    throw new CommandError(`${path} belongs to an import to ${state.url}: delete it to start a new import`, 1)
  }
  if (state.bytes > 0) report(`Continuing after line ${state.lines}`)
  let hasNone = isDry
  // An earlier run may have sent the first part, without a response: its key must be kept.
  const isUnsent = (): boolean => stored === undefined && state.bytes === 0
  const save = async (): Promise<void> => void (isDry || (await writeState(path, state)))
  const progress = await startProgress('Importing', size)
  try {
    if (stored === undefined && !isDry) await createState(path, state)
    for await (const { body, lineOf, end } of partsOf(file, { ...transfer, batchSize }, state)) {
      const request = requestOf(transfer, isDry || isUpsert(transfer) ? {} : { 'Idempotency-Key': state.key })
      const response = await service.send({ ...request, body: () => body, repeat: 'always' })
      if (!response.ok) {
        // There is nothing to continue.
        if (isUnsent() && response.status < 500 && !isRunning(response)) {
          hasNone = true
          await removeFile(path)
        }
        throw await service.errorOf(response, lineOf)
      }
      const { created, updated } = await countsOf(response)
      const counts = { created: state.created + created, updated: state.updated + updated }
      state = { ...state, ...counts, ...end, key: randomUUID() }
      await save()
      progress.show({ bytes: end.bytes, records: counts.created + counts.updated })
    }
    if (!isDry) await removeFile(path)
    return `${resultOf(state, isDry)} in ${secondsSince(start)}`
  } catch (error) {
    // A wrong argument that only the file shows: nothing was sent.
    if (isUnsent() && error instanceof CommandError && error.code === 2) {
      hasNone = true
      await removeFile(path)
    }
    const confirmed = `${countOf(state.created + state.updated)} imported, up to line ${state.lines}.`
    throw ended(error, signal, hasNone ? nothingImported : `${confirmed} Run the command again to import the rest.`)
  } finally {
    progress.stop()
  }
}

function newState(url: URL): ImportState {
  return { ...startOfFile, url: url.href, created: 0, updated: 0, key: randomUUID() }
}

function requestOf(
  { url, format, isDry }: Import,
  headers: Readonly<Record<string, string>> = {},
): Pick<ServiceRequest, 'method' | 'url' | 'headers'> {
  const target = new URL(url)
  if (isDry) target.searchParams.set('dry_run', 'true')
  return { method: 'POST', url: target.href, headers: { ...headers, 'Content-Type': mediaTypes[format] } }
}

const isUpsert = ({ url }: Import): boolean => url.searchParams.has('on_conflict')

async function countsOf(response: Response): Promise<Counts> {
  try {
    const { meta } = (await response.json()) as { readonly meta: Partial<Counts> }
    return { created: meta.created ?? 0, updated: meta.updated ?? 0 }
  } catch (error) {
    throw new CommandError(`The response of ${response.url} cannot be read: ${messageOf(error)}`, 1)
  }
}

function resultOf({ created, updated }: Counts, isDry: boolean): string {
  if (isDry) return `${countOf(created + updated)} checked, none imported,`
  return updated === 0 ? `${countOf(created)} imported` : `${countOf(created)} created and ${updated} updated`
}
