import { basic } from './basic.ts'
import type { ClientCredentials, Token } from './types.ts'

/**
 * Returns the value of the header `Authorization`, or undefined to send none.
 * @param rejected value that the service has refused with 401: the result is then a different value, or undefined
 */
export type Authorize = (rejected?: string) => Promise<string | undefined>

/** @throws {TypeError} for credentials of several schemes */
export function authorizeWith({ username, password, token, apiKey }: ClientCredentials): Authorize {
  if ([username ?? password, token, apiKey].filter((one) => one !== undefined).length > 1) {
    throw new TypeError('only one of the options "username", "token" and "apiKey" can be set')
  }
  if (typeof token === 'function') return renewable(token)
  const given =
    username === undefined ? (header('Bearer', token) ?? header('ApiKey', apiKey)) : basic(username, password)
  return async (rejected) => (rejected === undefined ? given : undefined)
}

/**
 * Renews tokens. Requests that are rejected with the same token share one renewal, because a refresh token may be
 * valid only once.
 */
function renewable(token: Exclude<Token, string>): Authorize {
  let renewal: { readonly rejected: string; readonly result: Promise<string | undefined> } | undefined
  const renew = async (rejected: string): Promise<string | undefined> => {
    // Another request, or another browser tab with the same storage, may have renewed it in the meantime.
    const current = header('Bearer', await token())
    const renewed = current === rejected ? header('Bearer', await token(rejected.slice('Bearer '.length))) : current
    return renewed === rejected ? undefined : renewed
  }
  return async (rejected) => {
    if (rejected === undefined) return header('Bearer', await token())
    if (renewal?.rejected !== rejected) {
      const result = renew(rejected).finally(() => {
        renewal = undefined
      })
      renewal = { rejected, result }
    }
    return renewal.result
  }
}

/** @throws {TypeError} for invalid characters. The error of `Headers` would contain the credentials. */
function header(scheme: string, credentials: string | null | undefined): string | undefined {
  if (!credentials) return undefined
  const text = credentials.trim()
  if (/[^!-~]/.test(text)) throw new TypeError('a token or API key must consist of ASCII characters without spaces')
  return `${scheme} ${text}`
}

/** `fetch` with the header `Authorization`. After a 401 it repeats the request once, if there are other credentials. */
export function authorizedFetch(authorize: Authorize, fetchFunction: typeof fetch): typeof fetch {
  return async (input, init) => {
    const send = (authorization: string | undefined): Promise<Response> => {
      const headers = new Headers(init?.headers)
      if (authorization !== undefined) headers.set('Authorization', authorization)
      return fetchFunction(input, { ...init, headers })
    }
    const authorization = await authorize()
    const response = await send(authorization)
    const renewed = response.status === 401 && authorization !== undefined ? await authorize(authorization) : undefined
    if (renewed === undefined) return response
    await response.body?.cancel()
    return send(renewed)
  }
}
