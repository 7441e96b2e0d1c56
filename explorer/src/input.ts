import { type Schema, typesOf } from './document'

/** Text of an input for a value. */
export function textOf(schema: Schema, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && isList(schema) && value.every(isLine)) return value.join('\n')
  // In a field for any JSON, strings have quotes to distinguish them from numbers.
  return typeof value === 'object' || isAnyJson(schema) ? JSON.stringify(value, null, 2) : String(value)
}

/** Whether a schema is an array of texts, numbers or booleans, which an input shows as lines. */
export function isList({ type, items }: Schema): boolean {
  const isScalar = items?.enum !== undefined || /string|integer|number|boolean/.test(typesOf(items ?? {}).join())
  return isScalar && [type].flat().includes('array')
}

/** Whether a member of a list can be a line. A line that begins with a bracket would be the start of a JSON array. */
function isLine(member: unknown): boolean {
  return member !== null && /^[^[\n][^\n]*$/.test(String(member))
}

/** Whether an input of a schema contains JSON. */
export function isJson(schema: Schema): boolean {
  const types = typesOf(schema)
  return schema.enum === undefined && !isList(schema) && (types.length === 0 || /array|object/.test(types.join()))
}

function isAnyJson(schema: Schema): boolean {
  return schema.enum === undefined && typesOf(schema).length === 0
}

/** Error of a text that should be JSON, completing a sentence with the name of the field; undefined if it is JSON. */
export function jsonError(schema: Schema, text: string | null | undefined): string | undefined {
  if (!text || !isJson(schema)) return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const reason = isAnyJson(schema) ? 'strings need double quotes' : (error as Error).message
    return `must be JSON; ${reason}`
  }
}

/** Whether any text is a valid value, including the empty one. Dates and decimals have a format or pattern. */
export function isText(schema: Schema): boolean {
  const { format = 'password', pattern, enum: members } = schema
  return typesOf(schema).includes('string') && format === 'password' && pattern === undefined && members === undefined
}

/** Error of a number, a text or a key outside of the limits of its schema, completing a sentence with the name of the field. */
export function limitError(schema: Schema, text: string | null | undefined): string | undefined {
  if (!text || schema.enum !== undefined) return undefined
  const value = parseInput(schema, text)
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema
  const { minLength = 0, maxLength = Infinity } = schema
  if (typeof value === 'string' && isText(schema)) {
    const { length } = [...value]
    if (length < minLength) return `must have at least ${minLength} characters`
    return length > maxLength ? `must have at most ${maxLength} characters, not ${length}` : undefined
  }
  const kind = missedKind(schema, value)
  const target = schema['x-resource']
  if (kind !== undefined) {
    return target === undefined ? `must be ${kind}` : `must be the key of a ${target} record, which is ${kind}`
  }
  if (typeof value !== 'number') return undefined
  if (value < minimum) return `must be at least ${minimum}`
  if (value > maximum) return `must be at most ${maximum}`
  if (value <= exclusiveMinimum) return `must be greater than ${exclusiveMinimum}`
  return value >= exclusiveMaximum ? `must be less than ${exclusiveMaximum}` : undefined
}

const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** What the value of a schema must be, if a value cannot be that; undefined for other schemas and values. */
function missedKind(schema: Schema, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const types = typesOf(schema)
  if (schema.format === 'uuid') return uuidPattern.test(value) ? undefined : 'a UUID'
  const isNumber = /integer|number/.test(types.join()) && !types.includes('string')
  // The service checks integers beyond the safe range, which are texts.
  if (!isNumber || /^-?\d+$/.test(value)) return undefined
  return types.includes('integer') ? 'an integer' : 'a number'
}

/**
 * Value for the text of an input. A text that cannot be parsed is returned as it is: the service then reports the
 * error, as for all other values.
 */
export function parseInput(schema: Schema, text: string): unknown {
  const types = typesOf(schema)
  const member = schema.enum?.find((one) => String(one) === text)
  if (member !== undefined) return member
  if (types.includes('boolean')) return text === 'true' ? true : text === 'false' ? false : text
  if (types.includes('integer') || types.includes('number')) return parseNumber(text)
  if (types.includes('string')) return text
  const json = parseJson(text)
  if (!isList(schema) || Array.isArray(json)) return json
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => parseInput(schema.items ?? {}, line))
}

/** Parses a number. Integers beyond the safe range stay strings, so that they do not lose digits. */
function parseNumber(text: string): number | string {
  const number = Number(text)
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number)
  return text.trim() !== '' && Number.isFinite(number) && isExact ? number : text
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
