import { createPublicKey, type JsonWebKeyInput, KeyObject } from 'node:crypto'

/** A public key that verifies the signatures of tokens. */
export interface TokenKey {
  readonly key: KeyObject
  /** Identifies the key in the header of tokens. If undefined, the key is used whatever a token says. */
  readonly kid: string | undefined
  /** The only algorithm of the key; undefined for all that its type permits. */
  readonly alg: string | undefined
}

/** Minimum length of an RSA key, in bits (RFC 7518, 3.3). */
const minRsaBits = 2048

/** Algorithms by the curve of the key. */
const curveAlgorithms: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

function isSuitable({ key, alg }: TokenKey, algorithm: string): boolean {
  if (alg !== undefined && alg !== algorithm) return false
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = '', modulusLength = 0 } = {} } = key
  if (type === 'rsa') return /^[RP]S/.test(algorithm) && modulusLength >= minRsaBits
  if (type === 'ec') return curveAlgorithms[namedCurve] === algorithm
  return type === 'ed25519' && /^Ed/.test(algorithm)
}

/** Finds the key for the header of a token; undefined if there is none. */
export function findKey(keys: readonly TokenKey[], algorithm: string, kid: unknown): KeyObject | undefined {
  const suitable = keys.filter((key) => isSuitable(key, algorithm))
  const named = suitable.find((key) => key.kid !== undefined && key.kid === kid)
  const others = kid === undefined ? suitable : suitable.filter((key) => key.kid === undefined)
  return (named ?? (others.length === 1 ? others[0] : undefined))?.key
}

/** Parses the option `keys` and checks that each key and each algorithm is of use. Messages contain no keys. */
export function parseKeys(
  option: unknown,
  algorithms: readonly string[],
  report: (mistake: string) => void,
): readonly TokenKey[] {
  const list: unknown = Array.isArray(Object(option).keys) ? Object(option).keys : option
  const keys = Array.isArray(list) ? list : [list]
  const known = keys.flatMap((one: unknown, index) => {
    const key = parseKey(one)
    const position = Array.isArray(list) ? `"keys" at position ${index + 1}` : '"keys"'
    if (key === undefined) report(`${position} must be a public key: PEM, a KeyObject or a JSON Web Key for signatures`)
    else if (algorithms.length === 0 || algorithms.some((algorithm) => isSuitable(key, algorithm))) return [key]
    else report(`${position} suits none of the algorithms ${algorithms.join(', ')}; RSA keys need ${minRsaBits} bits`)
    return []
  })
  if (keys.length === 0) report('"keys" must have a key')
  else if (known.length === keys.length) for (const algorithm of algorithms) checkKeysOf(algorithm, known, report)
  return known
}

/** Whether a member of an issuer's key set is a public key that can verify tokens with one of the algorithms. */
export function canVerify(jwk: unknown, algorithms: readonly string[]): boolean {
  const key = parseKey(jwk)
  const { d: privatePart, key_ops: operations = ['verify'] } = Object(jwk)
  if (key === undefined || privatePart !== undefined || ![operations].flat().includes('verify')) return false
  return algorithms.some((algorithm) => isSuitable(key, algorithm))
}

/** Checks that there is a key for an algorithm, and that tokens can say which one. */
function checkKeysOf(algorithm: string, keys: readonly TokenKey[], report: (mistake: string) => void): void {
  const suitable = keys.filter((key) => isSuitable(key, algorithm))
  const kids = new Set(suitable.map(({ kid }) => kid))
  if (suitable.length === 0) report(`"keys" has no key for ${algorithm}`)
  if (suitable.length > 1 && (kids.size < suitable.length || kids.has(undefined))) {
    report(`"keys" has several keys for ${algorithm}: each must be a JSON Web Key with a "kid" of its own`)
  }
}

function parseKey(key: unknown): TokenKey | undefined {
  try {
    if (key instanceof KeyObject) return { key: toPublic(key), kid: undefined, alg: undefined }
    if (typeof key === 'string') return { key: createPublicKey(key), kid: undefined, alg: undefined }
    const { kid, alg, use = 'sig' } = key as { readonly kid?: unknown; readonly alg?: unknown; readonly use?: unknown }
    const isValid = [kid, alg].every((member) => member === undefined || typeof member === 'string') && use === 'sig'
    if (!isValid) return undefined
    const parsed = createPublicKey({ key: key as JsonWebKeyInput['key'], format: 'jwk' })
    return { key: parsed, kid: kid as string | undefined, alg: alg as string | undefined }
  } catch {
    return undefined
  }
}

/** The public part of a key. `createPublicKey` does not accept a public one. */
function toPublic(key: KeyObject): KeyObject {
  return key.type === 'public' ? key : createPublicKey(key)
}
