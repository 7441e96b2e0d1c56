import { ResourceError } from '../../src/client/error'
import { followEvents, type LiveEvent, retryWhileUnavailable } from '../../src/client/events'
import type { Send } from '../../src/client/send'
import type { Credentials } from './scheme'

/** A request to the service. The page also shows it as a URL and as a `curl` command. */
export interface Request {
  readonly method: string
  /** Path after that of the mount, such as `/city/?limit=5`. */
  readonly path: string
  /** Value that is sent as JSON, or a file, which is sent as it is. */
  readonly body?: unknown
  /** Media type of the body. Default: JSON. */
  readonly type?: string
  /** ETag of the record for `If-Match`. */
  readonly tag?: string | null
}

/** Error of one field. `message` completes a sentence that starts with the field's name. */
export interface FieldError {
  readonly field: string
  readonly message: string
  /** Line of the record in a file, from 1. */
  readonly line?: number
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
export async function send(
  request: Request,
  credentials: Credentials | undefined,
  signal: AbortSignal | null = null,
): Promise<Reply> {
  const response = await fetchAccepted(request, credentials, { Accept: 'application/json' }, signal)
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

/**
 * Follows the changes of a list until the signal is aborted, or the service refuses the request. Requests that may
 * succeed later are repeated, and connections that send nothing, not even heartbeats, are opened again.
 * @param receive gets the events that arrive together; the first one has the whole list
 */
export async function followChanges(
  path: string,
  credentials: Credentials | undefined,
  signal: AbortSignal,
  receive: (events: readonly LiveEvent[]) => void,
): Promise<void> {
  const sendOnce: Send = (method, url, _, { accept = '', lastEventId, signal: connectionSignal = signal } = {}) => {
    const headers = { Accept: accept, ...(lastEventId && { 'Last-Event-ID': lastEventId }) }
    return fetchAccepted({ method, path: url }, credentials, headers, connectionSignal).catch(
      ({ status, message }: Refused) => {
        throw status === 0 ? new TypeError(message) : new ResourceError(status, undefined, message)
      },
    )
  }
  // `followEvents` repeats all requests except the first one.
  await retryWhileUnavailable(() => followEvents(sendOnce, path, signal, receive), signal).catch(() => undefined)
}

const jsonType = 'application/json'

/** @throws {Refused} for a status that is not 2xx */
async function fetchAccepted(
  { method, path, body, type = jsonType, tag }: Request,
  credentials: Credentials | undefined,
  accept: Readonly<Record<string, string>>,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const headers = {
    ...accept,
    ...(body !== undefined && { 'Content-Type': type }),
    ...(credentials && { Authorization: credentials.authorization }),
    ...(tag && { 'If-Match': tag }),
  }
  // `omit` keeps the browser from opening its own sign-in dialog after a 401: the page has one.
  const options = {
    method,
    headers,
    signal,
    credentials: 'omit',
    // The browser reads a file while it sends it, so the page never has all of it in memory.
    ...(body !== undefined && { body: body instanceof File ? body : JSON.stringify(body) }),
  } as const
  const response = await fetch(root + path, options).catch(() => {
    const cause = body instanceof File ? ', or the file has changed: choose it again' : ''
    throw new Refused(0, `The service cannot be reached${cause}.`, [])
  })
  if (!response.ok) throw await refusalOf(response)
  return response
}

/** Parses the JSON of a response. @throws {Refused} if it is not JSON, such as an HTML page of a proxy */
function jsonOf(response: Response): Promise<unknown> {
  return response.json().catch(() => {
    throw new Refused(response.status, 'The response is not JSON, so it does not come from the service.', [])
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
    return new Refused(response.status, `The service responded with status ${response.status}.`, [])
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
  const { method, body, type = jsonType, tag } = request
  return [
    'curl',
    ...(credentials ? authorizationArguments(credentials) : []),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(tag ? ['-H', quote(`If-Match: ${tag}`)] : []),
    ...(body === undefined ? [] : ['-H', quote(`Content-Type: ${type}`), ...dataArguments(body)]),
    quote(urlOf(request)),
  ].join(' ')
}

function authorizationArguments({ scheme: { name, variable }, username = '' }: Credentials): readonly string[] {
  return variable === undefined ? ['-u', quote(username)] : ['-H', `${quote(`Authorization: ${name} `)}"$${variable}"`]
}

function dataArguments(body: unknown): readonly string[] {
  return body instanceof File ? ['--data-binary', quote(`@${body.name}`)] : ['-d', quote(JSON.stringify(body))]
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
