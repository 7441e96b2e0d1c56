import { MIMEType } from 'node:util'
import { ApiError } from '../errors'
import type { RequestLimits } from './limits'
import { parsePairs } from './pairs'

/** A request's body as it came: its bytes, or what a body parser of the application made of them before us. */
export type Payload = { readonly contentType: string } & ({ readonly bytes: Buffer } | { readonly parsed: unknown })

/** The properties of the JSON object that a body holds, in its order. */
export type Body = ReadonlyMap<string, unknown>

const form = 'application/x-www-form-urlencoded'
const multipart = 'multipart/form-data'
const accepted = `send application/json, or a form (${form} or ${multipart}) whose field "data" holds the JSON`

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Finds the one JSON object of a POST or PUT (specification: Bodies).
 * @throws {ApiError} `unsupported-media-type`, `bad-body`
 */
export async function parseBody(payload: Payload, limits: BodyLimits): Promise<Body> {
  const mediaType = checkMediaType(payload.contentType)
  const isForm = mediaType === form || mediaType === multipart
  const json =
    'parsed' in payload
      ? readParsed(payload.parsed, isForm)
      : parseJson(await readText(payload, mediaType, limits.parameters))
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ApiError('bad-body', 'the body must be one JSON object')
  }
  requireFewValues(json, limits.bodyValues)
  return membersOf(json)
}

/** How much a body may hold: fields of a form, and values of all arrays and objects. */
export type BodyLimits = Pick<RequestLimits, 'parameters' | 'bodyValues'>

/**
 * Checking, writing and showing a value takes up to some microseconds, whatever its column is, and the process does nothing else.
 * @throws {ApiError} `bad-body`
 */
function requireFewValues(json: object, most: number): void {
  const open: object[] = [json]
  let count = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const members: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    count += members.length
    if (count > most) {
      throw new ApiError('bad-body', `the body has more than ${most} values, in all of its arrays and objects`)
    }
    for (const member of members) if (typeof member === 'object' && member !== null) open.push(member)
  }
}

/** Members that one JSON object of a body may have: the columns that a table of MySQL, which allows most, may have. */
const maxMembers = 4096

/**
 * Members of a JSON object, in their order.
 * @throws {ApiError} `bad-body`, for more than any record has: to copy and to check each would block the process
 */
export function membersOf(object: object): Body {
  let count = 0
  for (const _ in object) {
    if (++count > maxMembers)
      throw new ApiError('bad-body', `an object of the body has more than ${maxMembers} members`)
  }
  return new Map(Object.entries(object))
}

function checkMediaType(contentType: string): string {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  const isJson = /^application\/([\w.+-]+\+)?json$/.test(type)
  if (!isJson && type !== form && type !== multipart) {
    const what = type === '' ? 'a body without Content-Type' : `"${type}"`
    throw new ApiError('unsupported-media-type', `${what} is not read; ${accepted}`)
  }
  if (charset !== undefined && !/^"?(utf-?8|us-ascii)"?$/.test(charset)) {
    throw new ApiError('unsupported-media-type', `the charset ${charset} is not read; send UTF-8`)
  }
  return type
}

type BytesPayload = Extract<Payload, { readonly bytes: Buffer }>

async function readText(payload: BytesPayload, mediaType: string, fields: number): Promise<string> {
  const { bytes } = payload
  const text = decodeUtf8(bytes)
  if (mediaType === multipart) return readMultipart(payload, fields)
  // `curl -d '{…}'` sends JSON under a form's type.
  return mediaType === form && !/^\s*[{[]/.test(text) ? readForm(bytes.toString('latin1'), fields) : text
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('bad-body', 'the body is not UTF-8')
  }
}

function readForm(latin1: string, fields: number): string {
  const pairs = parsePairs(latin1, fields, 'bad-body')
  const [first] = pairs
  // `curl --data-urlencode '{…}'` makes JSON the name of a field without value.
  if (pairs.length === 1 && first?.value === '' && first.name.startsWith('{')) return first.name
  return dataField(pairs.map(({ name, value }) => [name, value]))
}

/**
 * By the platform's own parser of RFC 7578, as `fetch` has it. It has no limits of its own: what it would take long to
 * read is refused before. It is given only the boundary that has been checked, because it splits Content-Type at commas.
 */
async function readMultipart({ bytes, contentType }: BytesPayload, fields: number): Promise<string> {
  const boundary = boundaryOf(contentType)
  requireSmallParts(bytes, `--${boundary}`, fields)
  const headers = { 'content-type': `${multipart}; boundary="${boundary}"` }
  const data = await new Response(bytes, { headers }).formData().catch(() => {
    throw new ApiError('bad-body', 'the multipart form cannot be read: check its boundary')
  })
  return dataField([...data.entries()])
}

/** Bytes of the headers of one part. */
const maxPartHeader = 2048

/** The last delimiter, which `--` follows, ends the form. @throws {ApiError} `bad-body` */
function requireSmallParts(bytes: Buffer, delimiter: string, fields: number): void {
  let at = bytes.indexOf(delimiter)
  for (let count = 0; at >= 0; count++) {
    if (count > fields)
      throw new ApiError('bad-body', `at most ${fields} fields are allowed in a form, this one has more`)
    const start = at + delimiter.length
    const header = bytes.subarray(start, start + maxPartHeader)
    if (header.length === maxPartHeader && !header.includes('\r\n\r\n')) {
      throw new ApiError(
        'bad-body',
        `the headers of a part of the multipart form have more than ${maxPartHeader} bytes`,
      )
    }
    at = bytes.indexOf(delimiter, at + 1)
  }
}

/** RFC 2046, 5.1.1. The parser would search for other characters in UTF-8, though headers are Latin-1. */
const boundaryForm = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

/** @throws {ApiError} `bad-body` */
function boundaryOf(contentType: string): string {
  const boundary = parameterOf(contentType, 'boundary')
  if (!boundary) {
    throw new ApiError('bad-body', 'the multipart form cannot be read: its Content-Type has no boundary')
  }
  if (!boundaryForm.test(boundary)) {
    throw new ApiError(
      'bad-body',
      "the multipart form cannot be read: its boundary must be 1 to 70 ASCII letters, digits, spaces or '()+_,-./:=?",
    )
  }
  return boundary
}

function parameterOf(contentType: string, name: string): string | null {
  try {
    return new MIMEType(contentType).params.get(name)
  } catch {
    return null
  }
}

function dataField(fields: readonly (readonly [string, unknown])[]): string {
  const [text, another] = fields.filter(([name]) => name === 'data').map(([, value]) => value)
  if (another !== undefined || typeof text !== 'string') {
    throw new ApiError('bad-body', `the form must have one text field "data"; ${accepted}`)
  }
  return text
}

function readParsed(parsed: unknown, isForm: boolean): unknown {
  if (typeof parsed === 'string') return parseJson(parsed)
  if (!isForm || typeof parsed !== 'object' || parsed === null) return parsed
  return parseJson(dataField(Object.entries(parsed)))
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw new ApiError('bad-body', `the body is empty; ${accepted}`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError('bad-body', `the body is not JSON: ${(error as SyntaxError).message}`)
  }
}
