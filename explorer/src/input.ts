import { type Schema, typesOf } from './document'

/** What an input holds for a value. */
export function textOf(schema: Schema, value: unknown): string {
  if (value === undefined || value === null) return ''
  // Where there can be any JSON, a text in quotes is told from a number.
  return typeof value === 'object' || isAnyJson(schema) ? JSON.stringify(value, null, 2) : String(value)
}

function isAnyJson(schema: Schema): boolean {
  return schema.enum === undefined && typesOf(schema).length === 0
}

/** Whether what is in the input of any JSON is some; nothing is, too. */
export function isJsonFor(schema: Schema, text: string | null | undefined): boolean {
  return !text || !isAnyJson(schema) || parseJson(text) !== text
}

/** Whether each text is a value, the empty one too: dates, decimals and their kin have a form. */
export function isText(schema: Schema): boolean {
  const { format = 'password', pattern, enum: members } = schema
  return typesOf(schema).includes('string') && format === 'password' && pattern === undefined && members === undefined
}

/**
 * The value that a text in an input stands for. What cannot be one is sent as it is, so that the service says what is wrong, as it
 * does of everything else.
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

/** Not one of more digits than a number holds. */
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
