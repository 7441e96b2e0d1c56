import type { DbSession, DbTransaction } from '../connection/db-session'
import { retryOnce } from '../connection/retry'
import { runSharedTransaction } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import { ApiError, retryAfterSeconds } from '../errors'
import { badIdempotencyKey, type KeyedRequest, keyDigest, requestFingerprint } from '../request/idempotency-key'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import type { HttpResponse } from '../response/http-response'
import type { StoredResponse } from '../schema/idempotency-key'
import { lockTreesOf } from '../write/lock-trees'
import { KeyTakenError, type StoredResponses } from '../write/stored-responses'
import type { WriteStore } from '../write/write-store'

/** Stored responses of a service to writes with the header `Idempotency-Key`, and the keys in use. */
export interface Idempotency {
  readonly responses: StoredResponses
  /** Deletes stored responses that have expired, in the background. */
  readonly deleteExpired: () => void
  /** Digests of the keys whose writes are running in this process. */
  readonly running: Set<string>
}

/** Response to a write, and what is stored with it. */
export type WrittenResponse = HttpResponse & Pick<StoredResponse, 'unseen'>

/** Response to a write with a key. */
export interface KeyedResponse {
  readonly response: WrittenResponse
  /** Whether the response is that of an earlier request, and this request has written nothing. */
  readonly isReplay: boolean
}

/** A write with a key. */
export interface KeyedWrite {
  readonly request: KeyedRequest
  /** Session with the principal, outside of transactions. */
  readonly session: DbSession
  /** Stores of the resources that the write changes. */
  readonly stores: readonly WriteStore[]
  readonly limits: Limits
  /** Memory of the response to this request. */
  readonly responseMemory: () => ResponseMemory
  /** Executes the write in a transaction, and returns its response. An error rolls the transaction back. */
  readonly run: (session: DbTransaction) => Promise<WrittenResponse>
  /** Converts an error of the COMMIT into a refusal. */
  readonly refuse: (error: unknown) => Promise<never>
}

/** Maximum number of attempts. Another one is needed if the key expires or its transaction is rolled back meanwhile. */
const maxAttempts = 5

/**
 * Executes a write, unless one with the same key and principal is in the database already; then returns its response. The
 * response is stored in the transaction of the write, so that both are stored or neither (specification: Idempotency keys).
 * @throws {ApiError} `idempotency-key-in-use`, `idempotency-key-reused`, `bad-idempotency-key`, `unavailable`, and those of
 * `run`
 */
export async function runOnce(idempotency: Idempotency, write: KeyedWrite): Promise<KeyedResponse> {
  const { running, deleteExpired } = idempotency
  const { session, request } = write
  const id = keyDigest(session.principal?.id ?? null, request.key)
  if (running.has(id)) throw inUse()
  running.add(id)
  try {
    const fingerprint = requestFingerprint(request)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const response = await retryOnce(session, () => writeFirst(idempotency, write, id, fingerprint))
      if (response === undefined) {
        const stored = await findStored(idempotency, session, id, fingerprint)
        if (stored === undefined) continue
        reserveMemory(write, stored)
        return { response: stored, isReplay: true }
      }
      deleteExpired()
      return { response, isReplay: false }
    }
  } finally {
    running.delete(id)
  }
  throw inUse()
}

/**
 * Inserts the key, executes the write and stores its response, in one transaction.
 * @returns undefined if the key has been inserted before
 */
async function writeFirst(
  { responses }: Idempotency,
  { session, stores, run, refuse, limits }: KeyedWrite,
  id: string,
  fingerprint: string,
): Promise<WrittenResponse | undefined> {
  const expires = Date.now() + limits.idempotencyTime
  const work = async (transaction: DbTransaction): Promise<WrittenResponse> => {
    await lockTreesOf(transaction, stores)
    await responses.insert(transaction, id, { fingerprint, expires })
    const response = await run(transaction)
    const { status, headers, body, unseen } = response
    requireStorable(response, limits.idempotencyBytes)
    await responses.store(transaction, id, { status, headers, body, unseen })
    return response
  }
  try {
    return await runSharedTransaction(session, work, dialectOf(session.dataSource).checkedWriteIsolation)
  } catch (error) {
    if (!(error instanceof KeyTakenError)) return refuse(error)
    if (error.isRunning) throw inUse()
    return undefined
  }
}

/**
 * Finds the response to the same request.
 * @returns undefined if the key can be used again: it has expired, or its transaction was rolled back
 * @throws {ApiError} `idempotency-key-in-use`, `idempotency-key-reused`
 */
async function findStored(
  { responses }: Idempotency,
  session: DbSession,
  id: string,
  fingerprint: string,
): Promise<WrittenResponse | undefined> {
  const stored = await responses.find(session, id)
  if (stored === undefined) return undefined
  const now = Date.now()
  if (stored.expires <= now) {
    await responses.deleteExpired(session, [id], now)
    return undefined
  }
  if (stored.fingerprint !== fingerprint) throw reused()
  // Some databases show rows of transactions that are not committed yet.
  if (stored.response === null) throw inUse()
  const { headers } = stored.response
  return { ...stored.response, headers: { ...headers, 'Idempotent-Replayed': 'true' }, cacheControl: undefined }
}

/**
 * Reserves the memory of a stored response. It is refused like that of a GET: this request writes nothing, and can be sent
 * again. Otherwise, clients that do not read could make the process run out of memory, because the body of their requests may
 * be small.
 * @throws {ApiError} `unavailable`
 */
function reserveMemory({ responseMemory }: KeyedWrite, { body }: HttpResponse): void {
  responseMemory().reserve(Buffer.byteLength(body))
}

/** @throws {ApiError} `bad-idempotency-key` for a response that must not be stored, or is too large */
function requireStorable({ body, cacheControl }: HttpResponse, maxBytes: number): void {
  if (cacheControl === 'no-store') throw badIdempotencyKey(secretResponse)
  const bytes = Buffer.byteLength(body)
  if (bytes <= maxBytes) return
  throw badIdempotencyKey(
    `the response has ${bytes} bytes; with an Idempotency-Key it may have at most ${maxBytes}, because it is stored: ` +
      'write fewer records in one request, or send it without the key; a change of one large record can be repeated ' +
      'safely as PATCH with If-Match',
  )
}

/** Message for a write whose response has a secret, such as a new API key. */
export const secretResponse =
  'the response has a secret that is not stored, so it cannot be sent again: send the request without Idempotency-Key'

function inUse(): ApiError {
  return new ApiError(
    'idempotency-key-in-use',
    'the first request with this Idempotency-Key is still running; send the request again later',
    { headers: { 'Retry-After': retryAfterSeconds } },
  )
}

function reused(): ApiError {
  return new ApiError(
    'idempotency-key-reused',
    'this Idempotency-Key belongs to a request with another method, path, query or body, or with other permissions to ' +
      'read fields; send a new key with each new request',
  )
}
