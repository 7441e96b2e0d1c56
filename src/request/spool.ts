import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ApiError } from '../errors'
import { ReceivedChunks, receiveChunks } from './received-chunks'

/** A request body that has been received completely, and can be read several times. */
export interface Spool {
  /** In bytes. */
  readonly size: number
  readonly read: () => Readable
  /** Frees its memory or its file. */
  readonly close: () => Promise<void>
}

/** Size up to which a body is kept in memory, in bytes. */
const maxMemory = 1024 * 1024
/** Number of bytes that must arrive within a time. */
const minBytes = 64 * 1024

/**
 * Receives a body, before a transaction begins that reads it: a slow client must not keep the transaction open. A large body
 * is written to a temporary file, which is deleted as soon as it is open.
 * @param limit maximum size, in bytes
 * @param stallLimit time in which 64 KiB must arrive, in milliseconds: other imports wait for this one
 * @throws {ApiError} `body-too-large`, `bad-body`
 */
export async function spoolBody(body: Readable, limit: number, stallLimit: number): Promise<Spool> {
  const parts: Buffer[] = []
  let file: FileHandle | undefined
  let size = 0
  try {
    for await (const part of receivedParts(body, stallLimit)) {
      size += part.length
      if (size > limit) throw new ApiError('body-too-large', `an import may have at most ${limit} bytes`)
      parts.push(part)
      if (file === undefined && size <= maxMemory) continue
      file ??= await openTemporary()
      for (const received of parts.splice(0)) await file.appendFile(received)
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
async function* receivedParts(body: Readable, stallLimit: number): AsyncGenerator<Buffer> {
  const error = (): ApiError => {
    const detail = `less than ${minBytes} bytes of the body arrived within ${stallLimit} ms (limits.streamStall)`
    return new ApiError('bad-body', detail)
  }
  const chunks = new ReceivedChunks()
  for (let isComplete = false; !isComplete; ) {
    isComplete = await receiveChunks(body, chunks, minBytes, { stall: { limit: stallLimit, error } })
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
