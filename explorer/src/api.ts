import type { Credentials } from './scheme'

/** A request to the service. The page also shows it as a URL and as a `curl` command. */
export interface Request {
  readonly method: string
  /** Path after that of the mount, such as `/city/?limit=5`. */
  readonly path: string
  readonly body?: unknown
  /** ETag of the record for `If-Match`. */
  readonly tag?: string | null
}

/** Error of one field. `message` completes a sentence that starts with the field's name. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** Thrown for a response whose status is not 2xx, with a message for the user. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors: readonly FieldError[],
    /** The header `WWW-Authenticate` of a 401. */
    readonly challenges: string | null = null,
  ) {
    super(message)
  }
}

/** Path of the mount, such as `/api`. */
export const root = document.body.dataset['root'] ?? ''

export interface Reply {
  readonly json: unknown
  readonly tag: string | null
}

/** Sends a request. @throws {Refused} */
export async function send(request: Request, credentials: Credentials | undefined): Promise<Reply> {
  const response = await fetchAccepted(request, credentials, { Accept: 'application/json' })
  const json = response.status === 204 ? undefined : await jsonOf(response)
  return { json, tag: response.headers.get('ETag') }
}

/**
 * Fetches a file.
 * @throws {Refused} also if the connection ends before the end of the file
 */
export async function fetchFile(
  path: string,
  credentials: Credentials | undefined,
  signal: AbortSignal,
): Promise<Blob> {
  const response = await fetchAccepted({ method: 'GET', path }, credentials, {}, signal)
  return response.blob().catch(() => {
    throw new Refused(0, 'The connection ended before the end of the file. Nothing has been saved.', [])
  })
}

/** @throws {Refused} for a status that is not 2xx */
async function fetchAccepted(
  { method, path, body, tag }: Request,
  credentials: Credentials | undefined,
  accept: { readonly Accept?: string },
  signal: AbortSignal | null = null,
): Promise<Response> {
  const headers = {
    ...accept,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...(credentials && { Authorization: credentials.authorization }),
    ...(tag && { 'If-Match': tag }),
  }
  // `omit` keeps the browser from opening its own sign-in dialog after a 401: the page has one.
  const options = {
    method,
    headers,
    signal,
    credentials: 'omit',
    ...(body !== undefined && { body: JSON.stringify(body) }),
  } as const
  const response = await fetch(root + path, options).catch(() => {
    throw new Refused(0, 'The service cannot be reached.', [])
  })
  if (!response.ok) throw await refusalOf(response)
  return response
}

/** Parses the JSON of a response. @throws {Refused} if it is not JSON, such as an HTML page of a proxy */
function jsonOf(response: Response): Promise<unknown> {
  return response.json().catch(() => {
    throw new Refused(response.status, 'The answer is not one of the service.', [])
  })
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text()
  if (response.status === 401)
    return new Refused(401, 'Sign in to do this.', [], response.headers.get('WWW-Authenticate'))
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

/**
 * `curl` command for a request. It does not contain credentials: curl prompts for a password, and a token or key is a
 * variable of the shell.
 */
export function curlOf(request: Request, credentials: Credentials | undefined): string {
  const { method, body, tag } = request
  return [
    'curl',
    ...(credentials ? authorizationArguments(credentials) : []),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(tag ? ['-H', quote(`If-Match: ${tag}`)] : []),
    ...(body === undefined ? [] : ['-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body))]),
    quote(urlOf(request)),
  ].join(' ')
}

function authorizationArguments({ scheme: { name, variable }, username = '' }: Credentials): readonly string[] {
  return variable === undefined ? ['-u', quote(username)] : ['-H', `${quote(`Authorization: ${name} `)}"$${variable}"`]
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
