import { basic } from '../../src/client/basic'

/** One request to the service, as the page shows it. */
export interface Request {
  readonly method: string
  /** Behind the mount: `/city/?limit=5`. */
  readonly path: string
  readonly body?: unknown
  /** Of the state of the record that is meant. */
  readonly tag?: string | null
}

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** What is wrong with one field. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** An answer that is no success, in words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors: readonly FieldError[],
  ) {
    super(message)
  }
}

/** The path of the mount: `/api`. */
export const root = document.body.dataset['root'] ?? ''

export interface Reply {
  readonly json: unknown
  readonly tag: string | null
}

/** @throws {Refused} */
export async function send({ method, path, body, tag }: Request, credentials: Credentials | undefined): Promise<Reply> {
  const headers = {
    Accept: 'application/json',
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...(credentials && { Authorization: basic(credentials.username, credentials.password) }),
    ...(tag && { 'If-Match': tag }),
  }
  // Without its own sign-in window: the page has one.
  const options = {
    method,
    headers,
    credentials: 'omit',
    ...(body !== undefined && { body: JSON.stringify(body) }),
  } as const
  const response = await fetch(root + path, options).catch(() => {
    throw new Refused(0, 'The service cannot be reached.', [])
  })
  if (!response.ok) throw await refusalOf(response)
  const json = response.status === 204 ? undefined : await jsonOf(response)
  return { json, tag: response.headers.get('ETag') }
}

/** @throws {Refused} for a page that somebody before the service has answered with */
function jsonOf(response: Response): Promise<unknown> {
  return response.json().catch(() => {
    throw new Refused(response.status, 'The answer is not one of the service.', [])
  })
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text()
  if (response.status === 401) return new Refused(401, 'Sign in to do this.', [])
  try {
    const { title, detail, errors } = JSON.parse(text)
    const message = detail === undefined ? String(title) : `${title}: ${detail}`
    return new Refused(response.status, message, Array.isArray(errors) ? errors : [])
  } catch {
    return new Refused(response.status, `The service has answered ${response.status}.`, [])
  }
}

export function urlOf({ path }: Request): string {
  return `${location.origin}${root}${path}`
}

/** The request as a line for a shell. The password is asked for. */
export function curlOf(request: Request, credentials: Credentials | undefined): string {
  const { method, body, tag } = request
  return [
    'curl',
    ...(credentials ? ['-u', quote(credentials.username)] : []),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(tag ? ['-H', quote(`If-Match: ${tag}`)] : []),
    ...(body === undefined ? [] : ['-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body))]),
    quote(urlOf(request)),
  ].join(' ')
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
