/** The name and password of an `Authorization: Basic` header. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Greatest sizes in bytes. What is larger is refused unread, so that nobody can make us hash a megabyte. */
const maximum = { header: 4096, username: 512, password: 1024 } as const

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the header of RFC 7617: base64 of UTF-8 text, the name up to the first colon.
 * @returns undefined for anything else
 */
export function parseCredentials(header: string | undefined): Credentials | undefined {
  if (header === undefined || header.length > maximum.header) return undefined
  const [, encoded] = /^basic +([a-z\d+/]+={0,2}) *$/i.exec(header) ?? []
  if (encoded === undefined) return undefined
  const text = decode(encoded)
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1 || text.includes('\0')) return undefined
  const credentials = { username: text.slice(0, colon), password: text.slice(colon + 1) }
  const fits = Buffer.byteLength(credentials.username) <= maximum.username && isPasswordSize(credentials.password)
  return fits ? credentials : undefined
}

/** Whether a password is neither empty nor too large to be hashed (1,024 bytes). */
export function isPasswordSize(password: string): boolean {
  return password !== '' && Buffer.byteLength(password) <= maximum.password
}

function decode(base64: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined
  }
}
