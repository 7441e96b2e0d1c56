import { ApiError } from '../errors'
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
 * Finds the one JSON object of a POST or PUT (spec.md, Endpoints, rule 1; D6).
 * @throws {ApiError} `unsupported-media-type`, `bad-body`
 */
export async function parseBody(payload: Payload): Promise<Body> {
  const mediaType = checkMediaType(payload.contentType)
  const isForm = mediaType === form || mediaType === multipart
  const json =
    'parsed' in payload
      ? readParsed(payload.parsed, isForm)
      : parseJson(await readText(payload.bytes, mediaType, payload.contentType))
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ApiError('bad-body', 'the body must be one JSON object')
  }
  return new Map(Object.entries(json))
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

async function readText(bytes: Buffer, mediaType: string, contentType: string): Promise<string> {
  const text = decodeUtf8(bytes)
  if (mediaType === multipart) return readMultipart(bytes, contentType)
  // `curl -d '{…}'` sends JSON under a form's type.
  return mediaType === form && !/^\s*[{[]/.test(text) ? readForm(bytes.toString('latin1')) : text
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('bad-body', 'the body is not UTF-8')
  }
}

function readForm(latin1: string): string {
  const pairs = parsePairs(latin1, 'bad-body')
  const [first] = pairs
  // `curl --data-urlencode '{…}'` makes JSON the name of a field without value.
  if (pairs.length === 1 && first?.value === '' && first.name.startsWith('{')) return first.name
  return dataField(pairs.map(({ name, value }) => [name, value]))
}

/** By the platform's own parser of RFC 7578, as `fetch` has it. */
async function readMultipart(bytes: Buffer, contentType: string): Promise<string> {
  const data = await new Response(bytes, { headers: { 'content-type': contentType } }).formData().catch(() => {
    throw new ApiError('bad-body', 'the multipart form cannot be read: check its boundary')
  })
  return dataField([...data.entries()])
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
