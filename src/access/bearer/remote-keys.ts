import type { CryptoKey, JWSHeaderParameters } from 'jose'
import { unavailable } from '../../errors'
import type { Jose } from './jose'
import { canVerify } from './token-keys'

/** Age at which the keys are read again, in milliseconds. */
const maxAgeMs = 600_000
/** Minimum time between two requests, in milliseconds: after a success, and after a failure. */
const cooldownMs = { loaded: 10_000, failed: 1000 }
/** Maximum time of a request, in milliseconds. */
const timeoutMs = 5000
/** Maximum length of a key set, in bytes. */
const maxBytes = 1_000_000

/**
 * The keys at a URL. They are read when the first token is verified, again when they are ten minutes old, and when a token names
 * an unknown key, at a limited rate. Keys that have been read are used while the URL cannot be read, or has no usable key.
 * `createRemoteJWKSet` of jose does not limit the rate after failures, and rejects known keys then.
 */
export class RemoteKeys {
  #find: ReturnType<Jose['createLocalJWKSet']> | undefined
  #loading: Promise<void> | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #nextRequest = Number.NEGATIVE_INFINITY
  #hasFailed = false

  constructor(
    readonly jose: Jose,
    readonly url: URL,
    /** The permitted algorithms. */
    readonly algorithms: readonly string[],
  ) {}

  /**
   * Finds the key for the header of a token.
   * @param report is called when the keys could not be read
   * @throws {ApiError} `unavailable`, if the keys cannot be read
   * @throws {JOSEError} if the header names no key that is known
   * @throws {TypeError} if the key that the header names is malformed
   */
  async find(header: JWSHeaderParameters, report: (error: Error) => void): Promise<CryptoKey> {
    if (performance.now() - this.#loadedAt > maxAgeMs) {
      const refreshing = this.#refresh(report)
      // Nobody may wait for it, and a listener of the application may throw in `report`.
      refreshing.catch(() => undefined)
      // After a failure, requests do not wait for the next attempt, which may take until its timeout.
      if (this.#find === undefined || !this.#hasFailed) await refreshing
    }
    try {
      return await this.#findLoaded(header)
    } catch (error) {
      if (!(error instanceof this.jose.errors.JWKSNoMatchingKey)) throw error
    }
    await this.#refresh(report)
    try {
      return await this.#findLoaded(header)
    } catch (error) {
      // While the URL cannot be read, nobody knows whether the key is one of the issuer's.
      if (this.#hasFailed && error instanceof this.jose.errors.JWKSNoMatchingKey) throw keysUnavailable()
      throw error
    }
  }

  async #findLoaded(header: JWSHeaderParameters): Promise<CryptoKey> {
    if (this.#find === undefined) throw keysUnavailable()
    const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys } = this.jose.errors
    return this.#find(header).catch((error: unknown) => {
      if (error instanceof JWKSNoMatchingKey || error instanceof JWKSMultipleMatchingKeys) throw error
      // Any other error is about the key, not about the token.
      throw new TypeError('the key is malformed', { cause: error })
    })
  }

  /** Reads the keys again, unless they were requested a short time ago. Concurrent calls share one request. */
  async #refresh(report: (error: Error) => void): Promise<void> {
    if (this.#loading === undefined && performance.now() < this.#nextRequest) return
    this.#loading ??= this.#load(report)
    await this.#loading
  }

  async #load(report: (error: Error) => void): Promise<void> {
    try {
      const keySet = JSON.parse(await readText(this.url))
      const find = this.jose.createLocalJWKSet(keySet)
      // Such a set is a mistake of the issuer: with it, all tokens would be wrong.
      if (!keySet.keys.some((jwk: unknown) => canVerify(jwk, this.algorithms))) {
        throw new Error(`the key set has no public key for ${this.algorithms.join(', ')}`)
      }
      this.#find = find
      this.#loadedAt = performance.now()
      this.#hasFailed = false
    } catch (cause) {
      this.#hasFailed = true
      const { origin, pathname } = this.url
      report(new Error(`the keys of tokens could not be read from ${origin}${pathname}`, { cause }))
    } finally {
      this.#nextRequest = performance.now() + cooldownMs[this.#hasFailed ? 'failed' : 'loaded']
      this.#loading = undefined
    }
  }
}

/** Creates the 503 for a token that may be correct. */
export function keysUnavailable(): Error {
  return unavailable('tokens cannot be verified for the moment')
}

/** Reads a text. Redirects are refused: they could lead to an address without TLS. */
async function readText(url: URL): Promise<string> {
  const headers = { Accept: 'application/jwk-set+json, application/json' }
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new Error(`the key set has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (response.status !== 200) throw new Error(`the response has status ${response.status}`)
  return Buffer.concat(chunks).toString()
}
