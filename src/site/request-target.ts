import type { Context } from 'koa'

/** Parts of a request target. */
export interface RequestTarget {
  readonly path: string
  /** Without the question mark; empty if there is none. */
  readonly querystring: string
}

/** Divides a request target at its first question mark. Nothing is decoded. */
export function splitTarget(target: string): RequestTarget {
  const queryIndex = target.indexOf('?')
  if (queryIndex < 0) return { path: target, querystring: '' }
  return { path: target.slice(0, queryIndex), querystring: target.slice(queryIndex + 1) }
}

/**
 * Path and query string as the client sent them. Koa's own path comes from `url.parse`: if the target contains a `#`,
 * this function reads backslashes as slashes, and it throws for some targets.
 * @returns undefined if there is a `#` or, in the path, a backslash: a request target cannot contain them
 * (RFC 9112, request target)
 */
export function targetOf({ req: { url = '' }, originalUrl }: Context): string | undefined {
  return /^[^?]*\\|#/.test(originalUrl) ? undefined : withoutOrigin(url)
}

/** Prefix of the path that was removed before this middleware: by Express (`baseUrl`), then by `koa-mount` in Koa. */
export function mountPoint({ originalUrl, req }: Context): string {
  const { url = '', baseUrl = '' } = req as { readonly url?: string; readonly baseUrl?: string }
  if (originalUrl === url) return baseUrl
  const [originalTarget, target] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  if (!originalTarget.endsWith(target)) return baseUrl
  return baseUrl + originalTarget.slice(0, originalTarget.length - target.length)
}

/** Removes scheme and host from a request target in absolute form. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
}
