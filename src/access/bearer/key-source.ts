import type { Report } from '../../errors'
import { parseKeys, type TokenKey } from './token-keys'

/** Options that set the source of the keys. Exactly one is required. */
export const keySourceNames = ['jwks', 'keys', 'secret'] as const

/** Where the keys that verify signatures come from. */
export type KeySource =
  | { readonly type: 'jwks'; readonly url: URL }
  | { readonly type: 'keys'; readonly keys: readonly TokenKey[] }
  | { readonly type: 'secret'; readonly secret: Uint8Array }

/**
 * Checks the options that set the source of the keys.
 * @returns undefined if there is not exactly one, or if it has mistakes
 */
export function checkKeySource(
  { jwks, keys, secret }: { readonly [Name in (typeof keySourceNames)[number]]?: unknown },
  algorithms: readonly string[],
  report: Report,
): KeySource | undefined {
  if ([jwks, keys, secret].filter((source) => source !== undefined).length !== 1) {
    report('exactly one of "jwks", "keys" and "secret" is required')
    return undefined
  }
  if (jwks !== undefined) return checkUrl(jwks, report)
  if (secret !== undefined) return checkSecret(secret, algorithms, report)
  return { type: 'keys', keys: parseKeys(keys, algorithms, report) }
}

const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * Checks the URL of a key set. It needs HTTPS: otherwise an attacker on the network could replace the keys and issue
 * tokens.
 */
function checkUrl(jwks: unknown, report: Report): KeySource | undefined {
  const url = URL.canParse(String(jwks)) ? new URL(String(jwks)) : undefined
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopbackHosts.includes(url.hostname))
  if (url !== undefined && isSecure && url.username === '' && url.password === '') return { type: 'jwks', url }
  report('"jwks" must be a URL with https, or with http and a loopback address, without a user name')
  return undefined
}

/** Checks a secret. It must have 32 bytes, and as many as the longest digest of the algorithms (RFC 7518, 3.2). */
function checkSecret(secret: unknown, algorithms: readonly string[], report: Report): KeySource | undefined {
  const isSecret = typeof secret === 'string' || secret instanceof Uint8Array
  const bytes = isSecret ? new Uint8Array(Buffer.from(secret as string)) : new Uint8Array()
  const required = Math.max(32, ...algorithms.map((name) => Number(name.slice(2)) / 8 || 0))
  if (bytes.length >= required) return { type: 'secret', secret: bytes }
  report(`"secret" must be a string or a Uint8Array of at least ${required} bytes for these algorithms`)
  return undefined
}
