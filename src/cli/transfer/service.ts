import { setTimeout } from 'node:timers/promises'
import type { Authorize } from '../../client/authorization.ts'
import type { FieldError } from '../../client/error.ts'
import { maxErrors } from '../../errors'
import { CommandError, messageOf } from '../command-error'

/** A request to a resource. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body. It is called for each time that the request is sent. */
  readonly body?: () => AsyncIterable<Buffer> | Buffer
  /**
   * Whether it can be sent again: `always`, if a repetition has no further effect; `if refused`, if the first request was certainly
   * not executed; `never`, if its body can be read only once.
   */
  readonly repeat: 'always' | 'if refused' | 'never'
}

/** Sends requests with the credentials of the environment. */
export interface Service {
  /**
   * Sends a request, and repeats it after the time in `Retry-After`.
   * @throws {CommandError} if there is no response
   */
  readonly send: (request: ServiceRequest) => Promise<Response>
  /**
   * The error of a response whose status is not 2xx, with an explanation for the user.
   * @param lineOf the line of the file for a line of the body
   */
  readonly errorOf: (response: Response, lineOf?: (line: number) => number) => Promise<CommandError>
}

const variables = {
  username: 'TYPEORM_RESOURCES_USERNAME',
  password: 'TYPEORM_RESOURCES_PASSWORD',
  token: 'TYPEORM_RESOURCES_TOKEN',
  apiKey: 'TYPEORM_RESOURCES_API_KEY',
} as const

/** How often a request is repeated after a response with `Retry-After`. */
const maxRetries = 5

/** Whether a response means that an earlier request with the same `Idempotency-Key` is still running. */
export function isRunning({ status, headers }: Response): boolean {
  return status === 409 && headers.has('Retry-After')
}

/** @throws {CommandError} for credentials of several schemes */
export async function connect(signal: AbortSignal): Promise<Service> {
  // The client consists of ES modules.
  const { authorizeWith } = await import('../../client/authorization.ts')
  const { errorOf } = await import('../../client/error.ts')
  const { retryAfterMs } = await import('../../client/send.ts')
  const authorization = await credentials(authorizeWith)
  const sendOnce = async ({ method, url, headers, body }: ServiceRequest): Promise<Response> => {
    try {
      return await fetch(url, {
        method,
        headers: authorization === undefined ? headers : { ...headers, Authorization: authorization },
        signal,
        // Otherwise `fetch` keeps a copy of the whole body, to send it again: in Node.js 20, 700 MB for a file of 700 MB.
        redirect: 'error',
        window: null,
        ...(body === undefined ? {} : { body: body(), duplex: 'half' }),
      })
    } catch (error) {
      signal.throwIfAborted()
      // An error of the body, such as a file that cannot be read.
      const { cause } = Object(error) as { readonly cause?: unknown }
      if (cause instanceof CommandError || Object(cause).syscall === 'read') throw cause
      throw new CommandError(`The service at ${new URL(url).origin} ${connectionError(error)}`, 1)
    }
  }
  return {
    send: async (request) => {
      for (let retriesLeft = maxRetries; ; retriesLeft--) {
        const response = await sendOnce(request)
        const { status } = response
        // Status 409 with the header means that the first request is still running.
        const transient = { always: [429, 503, 409], 'if refused': [429], never: [] as number[] }[request.repeat]
        const delayMs = transient.includes(status) && retriesLeft > 0 ? retryAfterMs(response) : undefined
        if (delayMs === undefined) return response
        await response.body?.cancel()
        await setTimeout(delayMs, undefined, { signal })
      }
    },
    errorOf: async (response, lineOf = (line) => line) => {
      const { problem, message, errors } = await errorOf(response)
      const inFile = (text: string): string =>
        text.replace(/\bline (\d+)/g, (_, line) => `line ${lineOf(Number(line))}`)
      const detail = problem?.type.endsWith(':bad-body') ? inFile(message) : message
      const lines = errors.filter(({ line }) => line !== undefined).map((error) => describe(error, lineOf))
      if (errors.length === maxErrors) lines.push(`Only the first ${maxErrors} errors are shown.`)
      const shown = lines.length > 0 ? lines.join('\n') : `${response.status}: ${detail}`
      const advice = errors.some(({ message: text }) => text.startsWith('is read-only'))
        ? 'Fields that the service sets can be left out, for example with --omit id.'
        : (adviceForProblem[problem?.type.split(':').at(-1) ?? ''] ??
          adviceFor(response, problem !== undefined, authorization !== undefined))
      return new CommandError(advice === undefined ? shown : `${shown}\n${advice}`, 1)
    },
  }
}

async function credentials(authorizeWith: (options: object) => Authorize): Promise<string | undefined> {
  const given = Object.entries(variables).flatMap(([option, name]) => {
    const value = process.env[name]
    return value === undefined || value === '' ? [] : [[option, value] as const]
  })
  try {
    return await authorizeWith(Object.fromEntries(given))()
  } catch (error) {
    const names = given.map(([option]) => variables[option as keyof typeof variables]).join(', ')
    throw new CommandError(`The credentials in ${names} cannot be used: ${messageOf(error)}`, 2)
  }
}

/** What has happened to a connection, from an error of `fetch`, whose message is only "fetch failed". */
export function connectionError(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const message = messageOf(cause)
  if (message === 'unexpected redirect')
    return 'redirects to another URL: use that for --url, for example https: instead of http:'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `cannot be reached (${code}): check --url, and whether the service is running`
  }
  return `has closed the connection, or the network failed (${code || message})`
}

function describe({ line = 1, field, message }: FieldError, lineOf: (line: number) => number): string {
  return `line ${lineOf(line)}: ${[field, message].filter((text) => text !== '').join(' ')}`
}

/** What the user can do about an error, by its code. */
const adviceForProblem: Readonly<Record<string, string>> = {
  'bad-idempotency-key':
    'An import in parts needs --on-conflict, or the entity IdempotencyKey in the data source of the service.',
  'idempotency-key-reused':
    'The next part was sent before, with other records or another --batch-size. Check whether its records exist.',
}

/** What the user can do about a response. */
function adviceFor(
  { status, headers, url }: Response,
  isProblem: boolean,
  hasCredentials: boolean,
): string | undefined {
  const retryAfter = headers.get('Retry-After')
  switch (status) {
    case 401:
      return hasCredentials
        ? 'The service does not accept the credentials, or they do not permit this request.'
        : `Set ${variables.username} and ${variables.password}, ${variables.token}, or ${variables.apiKey}.`
    case 404:
      return isProblem ? undefined : `There is no resource at ${url}: check --url and the name of the resource.`
    case 413:
      return 'Send fewer records at a time, with --batch-size.'
    case 415:
      return 'The resource needs the option "bulk".'
    case 429:
    case 503:
      return /^\d+$/.test(retryAfter ?? '') ? `Try again in ${retryAfter} s.` : 'Try again later.'
    default:
      return undefined
  }
}
