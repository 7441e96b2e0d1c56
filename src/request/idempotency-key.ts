import { createHash, createHmac, hash } from 'node:crypto'
import { ApiError } from '../errors'
import type { Payload } from './body'

/** Request that is executed at most once for its key, and what identifies it. */
export interface KeyedRequest {
  /** Value of the header `Idempotency-Key`. */
  readonly key: string
  readonly method: string
  /** Path without the trailing slash, which is optional. */
  readonly path: string
  readonly querystring: string
  readonly payload: Payload
  /** What the principal may see of the response: the same request has another response if this changes. */
  readonly view: string
}

/**
 * Checks the header `Idempotency-Key`. Node.js joins several of them with a comma and a space.
 * @throws {ApiError} `bad-idempotency-key`
 */
export function parseIdempotencyKey(header: string): string {
  if (/^[!-~]{1,255}$/.test(header)) return header
  throw badIdempotencyKey('the header Idempotency-Key must have 1 to 255 visible ASCII characters, without spaces')
}

export function badIdempotencyKey(detail: string): ApiError {
  return new ApiError('bad-idempotency-key', detail)
}

/** Digest of a body that is too large for the memory, which identifies it. */
export async function digestOfBody(contentType: string, body: AsyncIterable<Buffer>): Promise<Payload> {
  const digest = createHash('sha256')
  for await (const chunk of body) digest.update(chunk)
  return { contentType, bytes: digest.digest() }
}

/** Digest of a key, which is separate for each principal. @param principalId null for all anonymous requests */
export function keyDigest(principalId: unknown, key: string): string {
  return hash('sha256', JSON.stringify([typeof principalId, String(principalId), key]))
}

/**
 * Digest of a request. The key, which is not stored, is the secret of the digest: nobody can use the stored digest to
 * guess a password in the body.
 */
export function requestFingerprint({ key, method, path, querystring, payload, view }: KeyedRequest): string {
  const { contentType } = payload
  const hmac = createHmac('sha256', key)
  hmac.update(JSON.stringify([method, path.replace(/\/$/, ''), querystring, contentType, view]))
  return hmac.update('bytes' in payload ? payload.bytes : (JSON.stringify(payload.parsed) ?? '')).digest('hex')
}
