import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ApiError } from '../errors'
import { within } from '../timers'

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
  const chunks: Buffer[] = []
  let file: FileHandle | undefined
  let size = 0
  try {
    for await (const chunk of received(body, stallLimit)) {
      size += chunk.length
      if (size > limit) throw new ApiError('body-too-large', `an import may have at most ${limit} bytes`)
      chunks.push(chunk)
      if (file === undefined && size <= maxMemory) continue
      file ??= await openTemporary()
      for (const part of chunks.splice(0)) await file.appendFile(part)
    }
  } catch (error) {
    await file?.close()
    // Discards the rest of the body, so that the connection can be used for further requests.
    body.resume()
    throw error
  }
  if (file === undefined) return { size, read: () => Readable.from(chunks), close: async () => void chunks.splice(0) }
  const handle = file
  return {
    size,
    read: () => createReadStream('', { fd: handle, start: 0, autoClose: false }),
    close: () => handle.close(),
  }
}

async function* received(body: Readable, stallLimit: number): AsyncGenerator<Buffer> {
  // `destroyOnReturn: false`, because the response still uses the connection after a refusal.
  const chunks = body.iterator({ destroyOnReturn: false })
  let size = 0
  for (let deadline = performance.now() + stallLimit; ; ) {
    const next = chunks.next().catch(() => {
      throw new ApiError('bad-body', 'the body ended before it was complete')
    })
    const chunk = await within(deadline - performance.now(), next, undefined)
    if (chunk === undefined) {
      const detail = `less than ${minBytes} bytes of the body arrived within ${stallLimit} ms (limits.streamStall)`
      throw new ApiError('bad-body', detail)
    }
    if (chunk.done) return
    const bytes = Buffer.from(chunk.value)
    size += bytes.length
    if (size >= minBytes) {
      size = 0
      deadline = performance.now() + stallLimit
    }
    yield bytes
  }
}

/** Opens a new file that only this process can read, and removes its name. */
async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `typeorm-resources-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  await unlink(path)
  return handle
}
