import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../errors'

/**
 * Refuses writes that a page of another origin makes the user's browser send (cross-site request forgery). The browser
 * adds the credentials that it has stored, and sends forms without a CORS preflight request. Clients that are not
 * browsers send neither of the two headers and are not refused.
 * @param headers headers of the request: browsers send `Origin` and `Sec-Fetch-Site`
 * @param host host that the request was sent to, with its port
 * @param allowed origins whose pages may write, for example `https://admin.example.org`
 * @throws {ApiError} `cross-origin`
 */
export function requireSameOrigin(headers: IncomingHttpHeaders, host: string, allowed: readonly string[]): void {
  const { origin, 'sec-fetch-site': fetchSite } = headers
  if (origin !== undefined && allowed.includes(origin)) return
  const isCrossOrigin = fetchSite === 'cross-site' || (origin !== undefined && !isSameHost(origin, host))
  if (!isCrossOrigin) return
  const detail =
    `cross-origin write from ${origin ?? 'another site'} to ${host} refused: add the origin to allowedOrigins, or, ` +
    'behind a proxy, let it send X-Forwarded-Host and set app.proxy'
  throw new ApiError('cross-origin', detail)
}

/** Whether an origin has the host of the request. The scheme is not compared, because it is unknown behind a proxy. */
function isSameHost(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  const requestOrigin = `${protocol}//${host}`
  return URL.canParse(requestOrigin) && new URL(requestOrigin).host === originHost
}
