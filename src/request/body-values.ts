import { ApiError } from '../errors'

/** Further limits of {@link requireFewValues}, and what it checks. */
interface ValueLimits {
  /** Maximum number of levels of arrays and objects within each other. Default: no maximum */
  readonly maxLevels?: number
  /** Maximum size of all texts and names of members together, in bytes. Default: no maximum */
  readonly maxBytes?: number
  /** What has the values, for messages. Default: the body */
  readonly subject?: string
}

/**
 * Limits the number of values in all arrays and objects of a body. Checking, writing and rendering a value takes up to
 * a few microseconds, whatever the type of its column, and blocks the event loop meanwhile.
 * @returns the number of values
 * @throws {ApiError} `bad-body`; `body-too-large` for more than `maxBytes`
 */
export function requireFewValues(
  json: object,
  maxValues: number,
  { maxLevels = Number.POSITIVE_INFINITY, maxBytes, subject = 'the body' }: ValueLimits = {},
): number {
  let level: readonly object[] = [json]
  let count = 0
  let bytes = 0
  for (let levels = 1; level.length > 0; levels++) {
    if (levels > maxLevels) throw tooManyLevels(maxLevels)
    const next: object[] = []
    for (const container of level) {
      const members: readonly unknown[] = Array.isArray(container) ? container : Object.values(container)
      count += members.length
      if (count > maxValues) throw tooManyValues(subject, maxValues)
      for (const member of members) if (typeof member === 'object' && member !== null) next.push(member)
      if (maxBytes === undefined) continue
      bytes += textBytes(members) + (Array.isArray(container) ? 0 : textBytes(Object.keys(container)))
      if (bytes > maxBytes) throw tooManyBytes(subject, maxBytes)
    }
    level = next
  }
  return count
}

/**
 * Refuses JSON with too many values before it is parsed: `JSON.parse` takes a second and 100 MiB for 2 million arrays within
 * each other, which have 4 MB. It may accept more values than {@link requireFewValues}.
 * @param json may also be a text that is not JSON
 * @param subject what has the values, for the message
 * @throws {ApiError} `bad-body`
 */
export function requireFewSeparators(json: string, maxValues: number, subject: string): void {
  if (json.length <= maxValues || !/^\s*[[{]/.test(json)) return
  // Each value follows a comma, or is the first one of an array or object.
  let commas = 0
  let containers = 0
  for (let index = 0; index < json.length; index++) {
    const character = json.charCodeAt(index)
    if (character === codes.quote) index = endOfText(json, index)
    else if (character === codes.comma) commas++
    else if (character === codes.bracket || character === codes.brace) containers++
  }
  // The outermost container is not a value.
  if (commas > maxValues || containers > maxValues + 1) throw tooManyValues(subject, maxValues)
}

/** Codes of characters that structure JSON. */
const codes = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  bracket: 0x5b,
  bracketEnd: 0x5d,
  brace: 0x7b,
  braceEnd: 0x7d,
} as const

/** @returns the index of the quote at the end of a text in JSON, or the length of the JSON */
function endOfText(json: string, start: number): number {
  let index = start + 1
  while (index < json.length && json.charCodeAt(index) !== codes.quote) {
    index += json.charCodeAt(index) === codes.backslash ? 2 : 1
  }
  return index
}

/** Matches white space of JSON, which has fewer characters than that of JavaScript. */
const whiteSpace = /^[\t\n\r ]*$/

/**
 * Divides the JSON of an array into that of its records, which are not checked: a part is JSON only if `JSON.parse` accepts it.
 * The array is read only as far as records are taken.
 * @param json begins with a bracket, perhaps after white space
 * @throws {ApiError} `bad-body` if the array has no end or an empty part, or something follows it
 */
export function* splitRecords(json: string): Generator<string, void> {
  let count = 0
  let depth = 0
  let start = 0
  const takeRecord = (end: number): string => {
    const record = json.slice(start, end)
    if (whiteSpace.test(record)) {
      throw notJson(`record ${count} of the array`, 'it is empty; remove the extra comma')
    }
    count++
    start = end + 1
    return record
  }
  for (let index = json.indexOf('['); index < json.length; index++) {
    const character = json.charCodeAt(index)
    if (character === codes.quote) index = endOfText(json, index)
    else if (character === codes.bracket || character === codes.brace) {
      depth += 1
      if (depth === 1) start = index + 1
    } else if (character === codes.comma && depth === 1) yield takeRecord(index)
    else if (character === codes.bracketEnd || character === codes.braceEnd) {
      depth -= 1
      if (depth > 0) continue
      if (character === codes.braceEnd) throw notJson('the body', 'the array must end with "]", not with "}"')
      if (!whiteSpace.test(json.slice(index + 1))) throw notJson('the body', 'something follows the end of the array')
      if (count > 0 || !whiteSpace.test(json.slice(start, index))) yield takeRecord(index)
      return
    }
  }
  throw notJson('the body', `the array has no end: a quote, bracket or brace is missing in or after record ${count}`)
}

/** @param subject what is not JSON */
export function notJson(subject: string, reason: string): ApiError {
  return new ApiError('bad-body', `${subject} is not JSON: ${reason}`)
}

function textBytes(values: readonly unknown[]): number {
  let bytes = 0
  for (const value of values) if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}

export function tooManyValues(subject: string, maxValues: number): ApiError {
  return new ApiError('bad-body', `${subject} has more than ${maxValues} values in all of its arrays and objects`)
}

/** The refusal of one of several records. @param subject the record */
export function tooManyBytes(subject: string, maxBytes: number): ApiError {
  return new ApiError('body-too-large', `${subject} is too large: a record may have at most ${maxBytes} bytes`)
}

/**
 * Maximum number of levels of arrays and objects within each other in a body that a recursive function reads: more levels
 * could exceed the size of the stack. A JSON column allows 64 for its values.
 */
export const maxBodyLevels = 100

export function tooManyLevels(maxLevels: number): ApiError {
  return new ApiError('bad-body', `the body has more than ${maxLevels} levels of arrays and objects within each other`)
}
