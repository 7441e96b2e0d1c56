import { type Schema, typesOf } from './document'

/** Text of an input for a value. */
export function textOf(schema: Schema, value: unknown): string {
  if (value === undefined || value === null) return ''
  // In a field for any JSON, strings have quotes to distinguish them from numbers.
  return typeof value === 'object' || isAnyJson(schema) ? JSON.stringify(value, null, 2) : String(value)
}

function isAnyJson(schema: Schema): boolean {
  return schema.enum === undefined && typesOf(schema).length === 0
}

/** Whether the text is valid for the schema: a field for any JSON must be empty or contain JSON. */
export function isJsonFor(schema: Schema, text: string | null | undefined): boolean {
  return !text || !isAnyJson(schema) || parseJson(text) !== text
}

/** Whether any text is a valid value, including the empty one. Dates and decimals have a format or pattern. */
export function isText(schema: Schema): boolean {
  const { format = 'password', pattern, enum: members } = schema
  return typesOf(schema).includes('string') && format === 'password' && pattern === undefined && members === undefined
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
  return parseJson(text)
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
