import { constants, createHmac, type KeyObject, sign } from 'node:crypto'

/** Issuer and audience of the tokens. */
export const issuer = 'https://issuer.example.org/'
export const audience = 'https://api.example.org'

/** Seconds since 1970, as in the claims of tokens. */
export const now = (): number => Math.floor(Date.now() / 1000)

/** Claims of a correct token, with others. A claim that is undefined is left out. */
export function claimsOf(others: object = {}): object {
  return { iss: issuer, aud: audience, sub: 'ann@example.org', exp: now() + 600, ...others }
}

type Header = Readonly<Record<string, unknown>>

/**
 * Signs a token, also one that no library would sign: the header and the payload are not checked.
 * @param payload a string is used as it is
 * @param key secret of the algorithms that begin with `HS`, private key of the others
 */
export function signToken(header: unknown, payload: unknown, key: KeyObject | string | undefined): string {
  const text = [header, payload].map((part) => encode(typeof part === 'string' ? part : JSON.stringify(part))).join('.')
  return `${text}.${key === undefined ? '' : signatureOf(String((header as Header)['alg']), text, key)}`
}

export const encode = (text: string): string => Buffer.from(text).toString('base64url')

function signatureOf(algorithm: string, text: string, key: KeyObject | string): string {
  const digest = `sha${algorithm.slice(2)}`
  if (typeof key === 'string') return createHmac(digest, key).update(text).digest('base64url')
  const data = Buffer.from(text)
  if (algorithm.startsWith('Ed')) return sign(null, data, key).toString('base64url')
  const options = {
    RS: { key },
    PS: { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    ES: { key, dsaEncoding: 'ieee-p1363' as const },
  }[algorithm.slice(0, 2)]
  if (options === undefined) throw new Error(`unknown algorithm ${algorithm}`)
  return sign(digest, data, options).toString('base64url')
}
