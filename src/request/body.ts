import { MIMEType } from 'node:util'
import { ApiError } from '../errors'
import { notJson, requireFewSeparators, requireFewValues, splitRecords, tooManyValues } from './body-values'
import { mediaTypes } from './formats'
import type { RequestLimits } from './limits'
import { parsePairs } from './pairs'

/** Request body: its bytes, or the value that a body parser of the application has already made of them. */
export type Payload = { readonly contentType: string } & ({ readonly bytes: Buffer } | { readonly parsed: unknown })

/** Members of the JSON object in a body, in their order. */
export type Body = ReadonlyMap<string, unknown>

const formType = 'application/x-www-form-urlencoded'
const multipartType = 'multipart/form-data'
const allowed = `send application/json, or a form (${formType} or ${multipartType}) whose field "data" holds the JSON`
const allowedFiles = `a POST to a resource with the option bulk may also have ${Object.values(mediaTypes).join(' or ')}`

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Called with the number of values that were parsed so far, in all arrays and objects of a body. An error that it throws refuses
 * the body.
 */
export type OnParsed = (values: number) => void

/**
 * Parses the body of a POST or PUT into the members of its one JSON object (specification: Bodies).
 * @throws {ApiError} `unsupported-media-type`, `bad-body`, and the errors of `onParsed`
 */
export async function parseBody(payload: Payload, limits: BodyLimits, onParsed: OnParsed): Promise<Body> {
  return objectBody(await parseBodyJson(payload, limits), limits, onParsed)
}

/**
 * Parses the body of a POST that may have several records: the members of one JSON object, or of each object of an array
 * (specification: Bulk writes).
 * @param maxRecords maximum number of objects in the array
 * @param pause called between steps, so that other requests run
 * @throws {ApiError} `unsupported-media-type`, `bad-body`, `body-too-large`, and the errors of `onParsed`
 */
export async function parseBodies(
  payload: Payload,
  limits: BulkBodyLimits,
  maxRecords: number,
  pause: () => Promise<void>,
  onParsed: OnParsed,
): Promise<Body | readonly Body[]> {
  const given = await readJson(payload, limits)
  const records = await recordsOfArray(given, limits, pause)
  if (records === undefined) {
    if ('bytes' in payload && payload.bytes.length > limits.body) {
      throw new ApiError('body-too-large', `a body with one record may have at most ${limits.body} bytes`)
    }
    return objectBody(jsonOf(given, limits), limits, onParsed)
  }
  if (records.length > maxRecords) {
    throw new ApiError('bad-body', `an array may have at most ${maxRecords} records, this one has ${records.length}`)
  }
  const bodies: Body[] = []
  let count = records.length
  for (const [index, one] of records.entries()) {
    await pause()
    const subject = `record ${index} of the array`
    const record = 'text' in given ? parseJson(String(one), limits.bodyValues, subject) : one
    if (!isObject(record)) throw new ApiError('bad-body', `${subject} must be a JSON object`)
    // A record is written without a pause, so it may not be larger than the body of a single one.
    count += requireFewValues(record, limits.bodyValues, { subject, maxBytes: limits.body })
    if (count > limits.bulkValues) throw tooManyValues('the body', limits.bulkValues)
    onParsed(count)
    bodies.push(membersOf(record))
  }
  return bodies
}

/**
 * The records of an array: values, or if the body is text, the JSON of each. The array is not parsed as a whole: `JSON.parse` takes
 * 100 ms for objects with 200,000 different names.
 * @param pause lets other requests run
 * @returns undefined for anything but an array
 * @throws {ApiError} `bad-body`
 */
async function recordsOfArray(
  given: GivenJson,
  { bulkValues }: BulkBodyLimits,
  pause: () => Promise<void>,
): Promise<readonly unknown[] | undefined> {
  if (!('text' in given)) return Array.isArray(given.json) ? given.json : undefined
  if (!/^[\t\n\r ]*\[/.test(given.text)) return undefined
  requireFewSeparators(given.text, bulkValues, 'the body')
  await pause()
  return [...splitRecords(given.text)]
}

/**
 * Parses a body that must be an array of anything.
 * @returns undefined for any other JSON
 * @throws {ApiError} `unsupported-media-type`, `bad-body`, and the errors of `onParsed`
 */
export async function parseArray(
  payload: Payload,
  limits: BodyLimits,
  onParsed: OnParsed,
): Promise<readonly unknown[] | undefined> {
  const json = await parseBodyJson(payload, limits)
  if (!Array.isArray(json)) return undefined
  const values = requireFewValues(json, limits.bodyValues)
  onParsed(values)
  return json
}

const isObject = (json: unknown): json is object => typeof json === 'object' && json !== null && !Array.isArray(json)

function objectBody(json: unknown, limits: BodyLimits, onParsed: OnParsed): Body {
  if (!isObject(json)) {
    const advice = Array.isArray(json) ? '; only a POST to a resource with the option bulk may have an array' : ''
    throw new ApiError('bad-body', `the body must be one JSON object${advice}`)
  }
  const values = requireFewValues(json, limits.bodyValues)
  onParsed(values)
  return membersOf(json)
}

/** The JSON of a body: as text, or as the value that a body parser of the application has already made of it. */
type GivenJson = { readonly text: string } | { readonly json: unknown }

/** @throws {ApiError} `unsupported-media-type`, `bad-body` */
async function readJson(payload: Payload, { parameters }: BodyLimits): Promise<GivenJson> {
  if ('bytes' in payload && payload.bytes.length === 0 && payload.contentType === '') throw emptyBody()
  const mediaType = checkMediaType(payload.contentType)
  const isForm = mediaType === formType || mediaType === multipartType
  return 'parsed' in payload
    ? readParsed(payload.parsed, isForm)
    : { text: await readText(payload, mediaType, parameters) }
}

/** @throws {ApiError} `bad-body` */
function jsonOf(given: GivenJson, { bodyValues }: BodyLimits): unknown {
  if (!('text' in given)) return given.json
  if (given.text.trim() === '') throw emptyBody()
  return parseJson(given.text, bodyValues)
}

/** @throws {ApiError} `unsupported-media-type`, `bad-body` */
async function parseBodyJson(payload: Payload, limits: BodyLimits): Promise<unknown> {
  return jsonOf(await readJson(payload, limits), limits)
}

/** Limits of a body: the number of form fields, and the number of values in all arrays and objects. */
export type BodyLimits = Pick<RequestLimits, 'parameters' | 'bodyValues'>

/** Limits of a body that may be an array of records. */
export type BulkBodyLimits = BodyLimits & Pick<RequestLimits, 'body' | 'bulkValues'>

/**
 * Maximum number of members of one JSON object in a body, and of names in the first line of CSV: the maximum number of columns of a table in MySQL, which is
 * the highest of all supported databases.
 */
export const maxMembers = 4096

/**
 * Returns the members of a JSON object, in their order.
 * @throws {ApiError} `bad-body` if there are more members than any record can have: copying and checking all of them
 * would block the event loop
 */
export function membersOf(object: object): Body {
  const members = new Map<string, unknown>()
  for (const name in object) {
    if (members.size === maxMembers)
      throw new ApiError('bad-body', `an object of the body has more than ${maxMembers} members`)
    members.set(name, object[name as keyof object])
  }
  return members
}

/**
 * Checks the media type and the charset of a body.
 * @returns the media type in lower case, without parameters
 * @throws {ApiError} `unsupported-media-type`
 */
function checkMediaType(contentType: string): string {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  const isJson = /^application\/([\w.+-]+\+)?json$/.test(type)
  if (!isJson && type !== formType && type !== multipartType) {
    const subject = type === '' ? 'a body without Content-Type' : `the content type "${type}"`
    throw new ApiError('unsupported-media-type', `${subject} is not supported; ${allowed}; ${allowedFiles}`)
  }
  if (charset !== undefined && !/^"?(utf-?8|us-ascii)"?$/.test(charset)) {
    throw new ApiError('unsupported-media-type', `the charset ${charset} is not supported; send UTF-8`)
  }
  return type
}

type BytesPayload = Extract<Payload, { readonly bytes: Buffer }>

async function readText(payload: BytesPayload, mediaType: string, maxFields: number): Promise<string> {
  const { bytes } = payload
  const text = decodeUtf8(bytes)
  if (mediaType === multipartType) return readMultipart(payload, maxFields)
  // `curl -d '{…}'` sends JSON with the content type of a form. An empty body is reported as such, not as
  // a form without the field `data`.
  return mediaType === formType && !/^\s*([{[]|$)/.test(text) ? readForm(bytes.toString('latin1'), maxFields) : text
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('bad-body', 'the body is not UTF-8')
  }
}

function readForm(latin1: string, maxFields: number): string {
  const pairs = parsePairs(latin1, maxFields, 'bad-body')
  const [first] = pairs
  // `curl --data-urlencode '{…}'` sends the JSON as the name of a field without a value.
  if (pairs.length === 1 && first?.value === '' && first.name.startsWith('{')) return first.name
  return dataField(pairs.map(({ name, value }) => [name, value]))
}

/**
 * Reads the field `data` of a multipart form (RFC 7578) with the parser that Node.js has for `fetch`. The parser has no
 * limits, so bodies that would take long to parse are rejected before. It receives only the checked boundary instead of
 * the whole Content-Type, because it splits Content-Type at commas.
 * @throws {ApiError} `bad-body`
 */
async function readMultipart({ bytes, contentType }: BytesPayload, maxFields: number): Promise<string> {
  const boundary = boundaryOf(contentType)
  requireSmallParts(bytes, `--${boundary}`, maxFields)
  const headers = { 'content-type': `${multipartType}; boundary="${boundary}"` }
  const data = await new Response(bytes, { headers }).formData().catch(() => {
    throw new ApiError('bad-body', 'the multipart form cannot be read: check its boundary')
  })
  return dataField([...data.entries()])
}

/** Maximum size of the headers of one part, in bytes. */
const maxPartHeaderBytes = 2048

/**
 * Limits the number of parts of a multipart form and the size of their headers. A form with n parts has n + 1
 * delimiters: the last one, followed by `--`, ends the form.
 * @throws {ApiError} `bad-body`
 */
function requireSmallParts(bytes: Buffer, delimiter: string, maxFields: number): void {
  let position = bytes.indexOf(delimiter)
  for (let count = 0; position >= 0; count++) {
    if (count > maxFields)
      throw new ApiError('bad-body', `at most ${maxFields} fields are allowed in a form, this one has more`)
    const start = position + delimiter.length
    const header = bytes.subarray(start, start + maxPartHeaderBytes)
    if (header.length === maxPartHeaderBytes && !header.includes('\r\n\r\n')) {
      throw new ApiError(
        'bad-body',
        `the headers of a part of the multipart form have more than ${maxPartHeaderBytes} bytes`,
      )
    }
    position = bytes.indexOf(delimiter, position + 1)
  }
}

/**
 * Syntax of a boundary (RFC 2046, 5.1.1). Other characters are rejected, because the parser would search the body for
 * their UTF-8 bytes although headers are Latin-1.
 */
const boundaryPattern = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

/**
 * Maximum length of the Content-Type of a multipart form. The time of `MIMEType` grows with the square of the number of
 * spaces: a header of 14 KB took 0.3 seconds.
 */
const maxContentTypeLength = 512

/** @throws {ApiError} `bad-body` */
function boundaryOf(contentType: string): string {
  if (contentType.length > maxContentTypeLength) {
    throw new ApiError(
      'bad-body',
      `the multipart form cannot be read: its Content-Type has more than ${maxContentTypeLength} characters`,
    )
  }
  const boundary = parameterOf(contentType, 'boundary')
  if (!boundary) {
    throw new ApiError('bad-body', 'the multipart form cannot be read: its Content-Type has no boundary')
  }
  if (!boundaryPattern.test(boundary)) {
    throw new ApiError(
      'bad-body',
      "the multipart form cannot be read: its boundary must be 1 to 70 ASCII letters, digits, spaces or '()+_,-./:=?",
    )
  }
  return boundary
}

/** Parameter of a content type; null if it is missing or the content type cannot be parsed. */
function parameterOf(contentType: string, name: string): string | null {
  try {
    return new MIMEType(contentType).params.get(name)
  } catch {
    return null
  }
}

/**
 * Returns the text of the form field `data`.
 * @throws {ApiError} `bad-body` if there is not exactly one, or if it is not text
 */
function dataField(fields: readonly (readonly [string, unknown])[]): string {
  const [text, duplicate] = fields.filter(([name]) => name === 'data').map(([, value]) => value)
  if (duplicate !== undefined || typeof text !== 'string') {
    throw new ApiError('bad-body', `the form must have one text field "data"; ${allowed}`)
  }
  return text
}

/**
 * JSON of a body that the application has already parsed: into text, into the fields of a form, or into a value.
 * @throws {ApiError} `bad-body` if `parsed` is undefined
 */
function readParsed(parsed: unknown, isForm: boolean): GivenJson {
  if (parsed === undefined) {
    throw new ApiError('bad-body', 'a middleware of the application has read the body, and has not set request.body')
  }
  if (typeof parsed === 'string') return { text: parsed }
  if (!isForm || typeof parsed !== 'object' || parsed === null) return { json: parsed }
  const fields = Object.entries(parsed)
  return { text: fields.length === 0 ? '' : dataField(fields) }
}

const emptyBody = (): ApiError => new ApiError('bad-body', `the body is empty; ${allowed}`)

/** @param subject what the text is, for messages. Default: the body */
function parseJson(text: string, maxValues: number, subject = 'the body'): unknown {
  requireFewSeparators(text, maxValues, subject)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw notJson(subject, (error as SyntaxError).message)
  }
}
