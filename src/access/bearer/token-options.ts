import type { KeyObject, webcrypto } from 'node:crypto'
import type { Report } from '../../errors'
import { checkOptionNames, isUndefined, undefinedOption } from '../../option-mistakes'
import type { Principal } from '../rule'
import { checkKeySource, type KeySource, keySourceNames } from './key-source'

/** The claims of a verified token (RFC 7519). Further claims depend on who issues the tokens. */
export interface TokenClaims {
  readonly exp: number
  readonly iss: string
  readonly sub?: string
  readonly aud?: string | readonly string[]
  readonly [claim: string]: unknown
}

/** A JSON Web Key (RFC 7517): as `node:crypto` exports it, or with further members. */
export type JsonWebKey =
  | webcrypto.JsonWebKey
  | { readonly kty: string; readonly kid?: string; readonly alg?: string; readonly [member: string]: unknown }

/** A public key: in PEM format, of `node:crypto`, or a JSON Web Key. Of a private key, the public part is used. */
export type PublicKey = string | KeyObject | JsonWebKey

/** Algorithms of signatures that can be verified. Those that begin with `HS` use a secret, the others a public key. */
export type TokenAlgorithm = (typeof secretAlgorithms)[number] | (typeof keyAlgorithms)[number]

/** Options of `bearer()`: where the keys come from, what tokens must be like, and which principal they identify. */
export interface BearerOptions {
  /** URL of the issuer's key set (JWKS). HTTPS, except for a loopback address. */
  readonly jwks?: URL | string
  /** Public key of the issuer, or several, or a key set. Two keys for one algorithm must have a `kid`. */
  readonly keys?: PublicKey | readonly PublicKey[] | { readonly keys: readonly JsonWebKey[] }
  /** Secret of the algorithms that begin with `HS`, of at least as many bytes as their digest: 32 for HS256. */
  readonly secret?: string | Uint8Array
  /** Permitted values of the claim `iss`. */
  readonly issuer: string | readonly string[]
  /** The names of this API, of which the claim `aud` must contain one. */
  readonly audience: string | readonly string[]
  /** Claim that is compared with `audience`, for issuers whose tokens have no `aud`. Default: `aud`. */
  readonly audienceClaim?: string
  /** Permitted algorithms of the signature. */
  readonly algorithms: readonly TokenAlgorithm[]
  /** Required type of the token in its header, such as `at+jwt` (RFC 9068). Default: any. */
  readonly typ?: string
  /** Maximum difference between the clocks, in seconds from 0 to 300, for `exp` and `nbf`. Default: 5. */
  readonly clockTolerance?: number
  /** Returns the principal of a verified token, or null or undefined to reject it. Errors are faults (500). */
  readonly principal?: (claims: TokenClaims) => Principal | null | undefined | Promise<Principal | null | undefined>
  /**
   * Finds the user in the entity with `@UserAccount`: the one whose property is exactly equal to the claim. The property
   * is a unique column.
   */
  readonly user?: { readonly claim: string; readonly property: string }
  /** Name of the protected area in the challenge of a response with status 401. Default: none. */
  readonly realm?: string
}

export const secretAlgorithms = ['HS256', 'HS384', 'HS512'] as const
export const keyAlgorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const

const optionNames: Readonly<Record<keyof BearerOptions, true>> = {
  jwks: true,
  keys: true,
  secret: true,
  issuer: true,
  audience: true,
  audienceClaim: true,
  algorithms: true,
  typ: true,
  clockTolerance: true,
  principal: true,
  user: true,
  realm: true,
}

/** Checked options with their defaults applied. */
export interface TokenRules {
  readonly source: KeySource
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  readonly audienceClaim: string
  readonly algorithms: readonly string[]
  readonly typ: string | undefined
  /** In seconds. */
  readonly clockTolerance: number
}

/** The options of which one says who sends a request. */
const principalNames = ['principal', 'user'] as const

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const textsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])
const isTexts = (value: unknown): boolean => textsOf(value).length > 0 && textsOf(value).every(isText)

/**
 * Names of the options that are undefined although a token cannot be verified without them, or would be verified less
 * strictly. Of the options of which one is required, an undefined one is a mistake only if all are.
 */
function undefinedOptions(options: object): readonly string[] {
  const alternatives = [keySourceNames, principalNames].filter((names) =>
    names.every((name) => Reflect.get(options, name) === undefined),
  )
  return ['issuer', 'audience', 'algorithms', 'typ', ...alternatives.flat()].filter((name) =>
    isUndefined(options, name),
  )
}

/** Checks the options of `bearer()`. @throws {TypeError} with all mistakes. It contains no keys or secrets */
export function checkBearerOptions(options: BearerOptions): TokenRules {
  const mistakes: string[] = []
  const report: Report = (mistake) => void mistakes.push(mistake)
  const { issuer, audience, audienceClaim = 'aud', typ, clockTolerance = 5, realm, principal, user } = Object(options)
  checkOptionNames(Object(options), optionNames, report)
  const undefinedNames = undefinedOptions(Object(options))
  const isGiven = (...names: readonly string[]): boolean => !names.some((name) => undefinedNames.includes(name))
  for (const name of undefinedNames) {
    report(undefinedOption(name, 'a missing environment variable or a circular import'))
  }
  if (isGiven('issuer') && !isTexts(issuer))
    report('"issuer" must be the value of the claim "iss", or an array of values')
  if (isGiven('audience') && !isTexts(audience)) {
    report('"audience" must be the value of the claim "aud" for this API, or an array of values')
  }
  if (!isText(audienceClaim)) report('"audienceClaim" must be the name of a claim')
  if (typ !== undefined && !isText(typ)) report('"typ" must be a type of tokens, such as "at+jwt"')
  if (typeof clockTolerance !== 'number' || !(clockTolerance >= 0 && clockTolerance <= 300)) {
    report('"clockTolerance" must be a number of seconds from 0 to 300')
  }
  if (realm !== undefined && !(typeof realm === 'string' && /^[ !#-[\]-~]+$/.test(realm))) {
    report('"realm" must be a string of ASCII characters without quotes and backslashes')
  }
  if (isGiven(...principalNames)) checkPrincipal(principal, user, report)
  const algorithms = isGiven('algorithms') ? checkAlgorithms(options, report) : []
  const source = isGiven(...keySourceNames) ? checkKeySource(Object(options), algorithms, report) : undefined
  if (source === undefined || mistakes.length > 0) {
    throw new TypeError(`bearer() has invalid options:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
  }
  const [issuers, audiences] = [issuer, audience].map((value) => textsOf(value).map(String))
  return {
    ...{ source, issuers: issuers ?? [], audiences: audiences ?? [] },
    ...{ audienceClaim, algorithms, typ, clockTolerance },
  }
}

function checkPrincipal(principal: unknown, user: unknown, report: Report): void {
  if ((principal === undefined) === (user === undefined)) {
    report('exactly one of "principal" and "user" is required: a function, or { claim, property }')
  }
  if (principal !== undefined && typeof principal !== 'function') {
    report('"principal" must be a function that returns the principal or null')
  }
  if (user === undefined) return
  const { claim, property, ...others } = Object(user)
  if (!isText(claim) || !isText(property) || Object.keys(others).length > 0) {
    report('"user" must be { claim, property }, such as { claim: "sub", property: "username" }')
  }
}

/** @returns the permitted algorithms; empty if they have mistakes */
function checkAlgorithms(options: BearerOptions, report: Report): readonly string[] {
  const known: readonly string[] = [...keyAlgorithms, ...secretAlgorithms]
  const { algorithms, ...others } = Object(options)
  if (!Array.isArray(algorithms) || algorithms.length === 0 || !algorithms.every((one) => known.includes(one))) {
    report(`"algorithms" must be an array of permitted algorithms: ${known.join(', ')}`)
    return []
  }
  // Without keys, the mistake is that they are missing.
  if (keySourceNames.every((name) => others[name] === undefined)) return algorithms
  const isSecret = (one: string): boolean => secretAlgorithms.some((secret) => secret === one)
  // A public key is known to everybody, so it must never be used as the secret of an algorithm.
  const unsuitable = algorithms.filter((one) => isSecret(one) !== (others.secret !== undefined))
  if (unsuitable.length === 0) return algorithms
  report(
    `"algorithms" has ${unsuitable.join(', ')}: those that begin with HS require "secret", the others "jwks" or "keys"`,
  )
  return []
}
