import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ApiError } from '../errors'
import type { Limits } from './limits'
import { ReceivedChunks, receiveChunks } from './received-chunks'

/** A request body that has been received completely, and can be read several times. */
export interface Spool {
  /** In bytes. */
  readonly size: number
  readonly read: () => Readable
  /** Frees its memory or its file. */
  readonly close: () => Promise<void>
}

/** Number of bytes that must arrive within a time. Only so many bytes of a body are in memory, so that many clients can be slow. */
const partBytes = 64 * 1024

/** Limits of the body of an import: its size, the time for each 64 KiB, and that for all of it. */
export type SpoolLimits = Pick<Limits, 'importBytes' | 'streamStall' | 'streamTime'>

/** A body could not be written to a temporary file, for example because the disk is full. */
export class SpoolError extends Error {
  override readonly name = 'SpoolError'
  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`cannot store the body of an import in ${tmpdir()}: ${reason}`, { cause })
  }
}

/** Counts the bytes of a body while it arrives. */
export interface SpoolCounting {
  /** Called with the number of bytes that are in memory. */
  readonly onBuffered: (bytes: number) => void
  /** Called with the size of each part. */
  readonly onPart: (bytes: number) => void
}

/**
 * Receives a body, before a transaction begins that reads it: a slow client must not keep the transaction open. A large body
 * is written to a temporary file, which is deleted as soon as it is open.
 * @param counting receives the sizes; an error that it throws refuses the body
 * @throws {ApiError} `body-too-large`, `bad-body`
 * @throws {SpoolError}
 */
export async function spoolBody(body: Readable, limits: SpoolLimits, counting: SpoolCounting): Promise<Spool> {
  const parts: Buffer[] = []
  let file: FileHandle | undefined
  let size = 0
  try {
    for await (const part of receivedParts(body, limits, counting)) {
      size += part.length
      if (size > limits.importBytes) {
        throw new ApiError('body-too-large', `an import may have at most ${limits.importBytes} bytes`)
      }
      counting.onPart(part.length)
      parts.push(part)
      if (file === undefined && size < partBytes) continue
      file ??= await openTemporary().catch(throwSpoolError)
      for (const received of parts.splice(0)) await file.appendFile(received).catch(throwSpoolError)
    }
  } catch (error) {
    await file?.close()
    // Discards the rest of the body, so that the connection can be used for further requests.
    body.resume()
    throw error
  }
  if (file === undefined) return { size, read: () => Readable.from(parts), close: async () => void parts.splice(0) }
  const handle = file
  return {
    size,
    read: () => createReadStream('', { fd: handle, start: 0, autoClose: false }),
    close: () => handle.close(),
  }
}

/**
 * Receives a body in parts of at least 64 KiB; the last one may be smaller.
 * @throws {ApiError} `bad-body`
 */
async function* receivedParts(
  body: Readable,
  { streamStall, streamTime }: SpoolLimits,
  { onBuffered }: SpoolCounting,
): AsyncGenerator<Buffer> {
  const deadline = performance.now() + streamTime
  const stalled = `less than ${partBytes} bytes of the body arrived within ${streamStall} ms (limits.streamStall)`
  const late = `the body did not arrive within ${streamTime} ms (limits.streamTime)`
  const chunks = new ReceivedChunks()
  for (let isComplete = false; !isComplete; ) {
    const left = Math.max(0, deadline - performance.now())
    const detail = left < streamStall ? late : stalled
    const stall = { limit: Math.min(streamStall, left), error: () => new ApiError('bad-body', detail) }
    isComplete = await receiveChunks(body, chunks, partBytes, { stall, onReceived: onBuffered })
    if (chunks.size > 0) yield chunks.take()
  }
}

/** Opens a new file that only this process can read, and removes its name. */
async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `typeorm-resources-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  await unlink(path)
  return handle
}

function throwSpoolError(error: unknown): never {
  throw new SpoolError(error)
}
