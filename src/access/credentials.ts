/** The name and password of an `Authorization: Basic` header. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Greatest length of the header, in characters. It limits the length of passwords, which are hashed. */
const maxHeaderLength = 4096

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses the `Authorization` header of HTTP Basic (RFC 7617): base64 of UTF-8 text, in which the name ends at the first
 * colon.
 * @returns undefined if the header is missing, too long or of another form
 */
export function parseCredentials(header: string | undefined): Credentials | undefined {
  if (header === undefined || header.length > maxHeaderLength) return undefined
  const [, encoded] = /^basic +([a-z\d+/]+={0,2}) *$/i.exec(header) ?? []
  const text = encoded === undefined ? undefined : decode(encoded)
  const [, username, password] = /^([^:\0]*):([^\0]*)$/.exec(text ?? '') ?? []
  return username === undefined || password === undefined ? undefined : { username, password }
}

function decode(base64: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined
  }
}
