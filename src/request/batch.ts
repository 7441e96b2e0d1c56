import { ApiError, FieldErrors } from '../errors'
import { requireReferences } from './batch-references'
import { type BodyLimits, type OnParsed, type Payload, parseArray } from './body'
import { errorOfOperation } from './operation-error'

/** A write in a batch, as the client has sent it (specification: Batches). */
export interface Operation {
  readonly method: string
  /** With the query string: `/api/project/?include=tasks`. */
  readonly path: string
  /** JSON with the references to results of earlier operations; undefined if there is none. */
  readonly body: unknown
  readonly preconditions: Preconditions
  readonly hasReferences: boolean
}

/** Conditional headers of an operation, with the names that Node.js gives to headers. */
export interface Preconditions {
  readonly 'if-match'?: string
  readonly 'if-none-match'?: string
}

const memberNames: readonly string[] = ['method', 'path', 'body', 'headers']
const methods: readonly unknown[] = ['POST', 'PUT', 'PATCH', 'DELETE']
const headerNames: readonly string[] = ['if-match', 'if-none-match']

/** Greatest length of the path of an operation, with the query string, in characters: that of a request target in Node.js. */
const maxPathLength = 16 * 1024

/** Number of parsed values that take about as much memory as the request that each operation becomes: 2 KB, as measured. */
const valuesPerOperation = 32

/**
 * Parses the body of a batch. Only its own members are checked here, and the form of references: the bodies of the
 * operations are checked like those of other requests.
 * @param maxOperations maximum number of operations
 * @throws {ApiError} `bad-body`, `unsupported-media-type`
 * @throws {OperationError} `bad-values` with all errors of the first wrong operation
 */
export async function parseBatch(
  payload: Payload,
  limits: BodyLimits,
  maxOperations: number,
  onParsed: OnParsed,
): Promise<readonly Operation[]> {
  let values = 0
  const json = await parseArray(payload, limits, (parsed) => {
    values = parsed
    onParsed(parsed)
  })
  if (json === undefined || json.length === 0) {
    throw new ApiError('bad-body', `the body must be an array of 1 to ${maxOperations} operations`)
  }
  if (json.length > maxOperations) {
    throw new ApiError('bad-body', `a batch may have at most ${maxOperations} operations, this has ${json.length}`)
  }
  onParsed(values + json.length * valuesPerOperation)
  return json.map((operation, index) => {
    try {
      return parseOperation(operation, index)
    } catch (error) {
      throw errorOfOperation(index, error)
    }
  })
}

/** @throws {ApiError} `bad-values`, `bad-body` */
function parseOperation(json: unknown, index: number): Operation {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ApiError('bad-values', 'an operation must be an object { "method", "path", "body", "headers" }')
  }
  const { method, path, body, headers = {} } = json as Readonly<Record<string, unknown>>
  const errors = new FieldErrors()
  for (const name of Object.keys(json)) {
    if (!memberNames.includes(name)) errors.add(name, `is not a member; members: ${memberNames.join(', ')}`)
  }
  if (!methods.includes(method)) errors.add('method', `must be one of ${methods.join(', ')}`)
  if (typeof path !== 'string') errors.add('path', 'must be the path of a resource or of a record, in a string')
  else if (path.length > maxPathLength) errors.add('path', `must have at most ${maxPathLength} characters`)
  const preconditions = parseHeaders(headers, errors)
  const hasReferences = requireReferences(body, index, errors)
  errors.raise('bad-values')
  return { method: String(method), path: String(path), body, preconditions, hasReferences }
}

/** @param errors receives every error */
function parseHeaders(headers: unknown, errors: FieldErrors): Preconditions {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    errors.add('headers', 'must be an object')
    return {}
  }
  const parsed = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const lowerCase = name.toLowerCase()
    if (!headerNames.includes(lowerCase)) errors.within('headers').add(name, 'is not one of If-Match, If-None-Match')
    else if (typeof value !== 'string') errors.within('headers').add(name, 'must be a string')
    else if (parsed.has(lowerCase)) errors.within('headers').add(name, 'is given twice')
    else parsed.set(lowerCase, value)
  }
  return Object.fromEntries(parsed)
}
