import { basic } from '../../src/client/basic'
import type { SecurityScheme } from './document'

/** A scheme of the header `Authorization`, with which users can sign in. */
export interface Scheme {
  /** Name in the header `Authorization`, such as `Bearer`. */
  readonly name: string
  /** Name of the credentials in the sign-in form, such as `Token`. */
  readonly label: string
  /** Variable of a shell that contains the credentials; undefined for a name and a password, which `curl` asks for. */
  readonly variable: string | undefined
}

/** Credentials of a user, as they are sent. */
export interface Credentials {
  readonly scheme: Scheme
  /** Value of the header `Authorization`. */
  readonly authorization: string
  /** Undefined if the scheme has no user names. */
  readonly username: string | undefined
}

const passwords: Scheme = { name: 'Basic', label: 'Name and password', variable: undefined }
const known: readonly Scheme[] = [
  passwords,
  { name: 'Bearer', label: 'Token', variable: 'TOKEN' },
  { name: 'ApiKey', label: 'API key', variable: 'API_KEY' },
]

/** @param name in upper or lower case */
function schemeNamed(name: string): Scheme {
  const scheme = known.find((one) => one.name.toLowerCase() === name.toLowerCase())
  return scheme ?? { name, label: `Credentials for ${name}`, variable: 'CREDENTIALS' }
}

/** Schemes of an OpenAPI document. Keys in another header, in the URL or in cookies are not supported. */
export function schemesOf(securitySchemes: Readonly<Record<string, SecurityScheme>> = {}): readonly Scheme[] {
  return Object.entries(securitySchemes).flatMap(([name, { type, scheme = name, in: place, name: header = '' }]) => {
    const isElsewhere = type === 'apiKey' && (place !== 'header' || header.toLowerCase() !== 'authorization')
    return isElsewhere ? [] : [schemeNamed(scheme)]
  })
}

/**
 * Schemes in the header `WWW-Authenticate` of a 401, for a service whose document only users can read. Without the
 * header, which middleware may remove, it is HTTP Basic.
 */
export function schemesIn(challenges: string | null): readonly Scheme[] {
  if (challenges === null) return [passwords]
  const withoutStrings = challenges.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  // A scheme is followed by its first parameter, by a comma or by nothing; a name with `=` is a parameter.
  const names = withoutStrings.matchAll(/(?:^|,)\s*([\w-]+)(?=\s+[\w-]+\s*=|\s*(?:,|$))/g)
  return [...names].map(([, name = '']) => schemeNamed(name))
}

export function passwordCredentials(username: string, password: string): Credentials {
  return { scheme: passwords, authorization: basic(username, password), username }
}

/**
 * Credentials from a pasted text, which may begin with the name of the scheme.
 * @returns undefined for a text that cannot be sent in a header
 */
export function pastedCredentials(scheme: Scheme, text: string): Credentials | undefined {
  const [first = '', ...rest] = text.trim().split(/\s+/)
  const isPrefix = rest.length > 0 && first.toLowerCase() === scheme.name.toLowerCase()
  const secret = (isPrefix ? rest : [first, ...rest]).join(' ')
  if (!/^[!-~]+$/.test(secret)) return undefined
  return { scheme, authorization: `${scheme.name} ${secret}`, username: undefined }
}
