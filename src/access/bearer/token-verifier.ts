import { hash as digestOf } from 'node:crypto'
import type { JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { LRUCache } from 'lru-cache'
import { ApiError } from '../../errors'
import type { Rejection } from '../authenticator'
import { type Jose, loadJose } from './jose'
import type { KeySource } from './key-source'
import { keysUnavailable, RemoteKeys } from './remote-keys'
import { findKey } from './token-keys'
import type { TokenClaims, TokenRules } from './token-options'

/** Maximum number of verified tokens in the cache. */
const maxRemembered = 1000
/** Maximum time in the cache, in milliseconds: for so long, tokens are accepted whose key the issuer has withdrawn. */
const maxRememberedTime = 60_000
/** Minimum time between two reports of a key that cannot be used, in milliseconds: everybody can send tokens that name it. */
const keyReportMs = 600_000

/**
 * Verifies the signature and the claims of a token.
 * @param report is called with an error of the issuer's key set
 * @throws {ApiError} `unavailable`, if the key set cannot be read
 */
export type VerifyToken = (
  token: string,
  report: (error: Error) => void,
) => Promise<{ readonly claims: TokenClaims } | Rejection>

type FindKey = (...parameters: [...Parameters<JWTVerifyGetKey>, (error: Error) => void]) => ReturnType<JWTVerifyGetKey>

/**
 * Builds the verification of tokens. Verified claims are cached by a digest of the token: verifying one
 * takes nearly as long as a list (docs/decisions/README.md).
 */
export function buildTokenVerifier(rules: TokenRules): VerifyToken {
  const { source, issuers, audiences, audienceClaim, algorithms, typ, clockTolerance } = rules
  const jose = loadJose()
  const options: JWTVerifyOptions = {
    issuer: [...issuers],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['exp'],
    ...(audienceClaim === 'aud' && { audience: [...audiences] }),
    ...(typ !== undefined && { typ }),
  }
  // The option `ttl` of the cache would start a timer in nearly every request.
  const verified = new LRUCache<string, Remembered>({ max: maxRemembered })
  const findKeyOf = keyFinder(jose, source, algorithms)
  let nextKeyReport = Number.NEGATIVE_INFINITY
  const hasAudience = (claims: object): boolean =>
    [Object(claims)[audienceClaim]].flat().some((name) => audiences.includes(name))
  return async (token, report) => {
    const key = digestOf('sha256', token, 'base64')
    const known = verified.get(key)
    if (known !== undefined && performance.now() < known.until) {
      return hasExpired(known.claims, clockTolerance) ? expired : known
    }
    try {
      const { payload } = await jose.jwtVerify(token, (header, jws) => findKeyOf(header, jws, report), options)
      if (!hasAudience(payload)) return { reason: `the claim "${audienceClaim}" of the token has another value` }
      const claims = freeze(payload) as TokenClaims
      verified.set(key, { claims, until: performance.now() + maxRememberedTime })
      return { claims }
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return { reason: reasonOf(jose, error) }
      // Any other error is about a key, such as one that is too short. Those of the options were checked.
      if (error instanceof ApiError || source.type !== 'jwks') throw error
      if (performance.now() >= nextKeyReport) {
        nextKeyReport = performance.now() + keyReportMs
        report(new Error('a key of the issuer cannot verify tokens', { cause: error }))
      }
      throw keysUnavailable()
    }
  }
}

/** A verified token. */
interface Remembered {
  readonly claims: TokenClaims
  /** Time from which it must be verified again, by `performance.now()`. */
  readonly until: number
}

const expired: Rejection = { reason: 'the token has expired' }

/** Whether a token has expired since it was verified, by the rule of jose. */
function hasExpired({ exp }: TokenClaims, clockTolerance: number): boolean {
  return exp <= Math.floor(Date.now() / 1000) - clockTolerance
}

/** Only the header's `alg` and `kid` select the key: keys and URLs in the header (`jwk`, `jku`, `x5u`) are not used. */
function keyFinder(jose: Jose, source: KeySource, algorithms: readonly string[]): FindKey {
  if (source.type === 'secret') return () => source.secret
  if (source.type === 'jwks') {
    const keys = new RemoteKeys(jose, source.url, algorithms)
    return ({ alg, kid }, _, report) => keys.find(kid === undefined ? { alg } : { alg, kid }, report)
  }
  return ({ alg, kid }) => {
    const key = findKey(source.keys, alg, kid)
    if (key === undefined) throw new jose.errors.JWKSNoMatchingKey()
    return key
  }
}

/** Why a token is wrong, without values of the token. */
function reasonOf({ errors }: Jose, error: Error): string {
  if (error instanceof errors.JWTExpired) return expired.reason
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim } = error
    return claim === 'typ'
      ? 'the type of the token has another value'
      : `the claim "${claim}" of the token is missing or has another value`
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'the algorithm of the token is not permitted'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token is wrong'
  if (error instanceof errors.JWKSNoMatchingKey) return 'the key of the token is unknown'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'the token does not say which key it was signed with'
  return 'the token is malformed, or uses an extension that is not supported'
}

/** Freezes JSON, because functions of the application get the same claims for each request with the token. */
function freeze<Json>(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json
  for (const member of Object.values(json)) freeze(member)
  return Object.freeze(json)
}
