import { ApiError } from '../errors'

/** What a browser says of where a request comes from. */
export interface Provenance {
  /** The header `Origin`. */
  readonly origin: string | undefined
  /** The header `Sec-Fetch-Site`. */
  readonly fetchSite: string | undefined
  /** The host that the request was sent to, with its port. */
  readonly host: string
}

/**
 * Refuses what a page of another site has its visitor's browser send: the browser adds the password that it remembers, and a
 * form asks nobody before. What is not a browser says neither of the headers.
 * @param allowed origins, as `https://admin.example.org`, whose pages may write
 * @throws {ApiError} `cross-origin`
 */
export function requireSameOrigin({ origin, fetchSite, host }: Provenance, allowed: readonly string[]): void {
  if (origin !== undefined && allowed.includes(origin)) return
  const isOther = fetchSite === 'cross-site' || (origin !== undefined && !isOwn(origin, host))
  if (!isOther) return
  const detail =
    `the page is of ${origin ?? 'another site'}, this is ${host}: name it in allowedOrigins, or, behind a proxy, ` +
    'have it send X-Forwarded-Host and set app.proxy'
  throw new ApiError('cross-origin', detail)
}

/** Whatever the scheme: behind a proxy we do not know our own. */
function isOwn(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: sender } = new URL(origin)
  const own = `${protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === sender
}
