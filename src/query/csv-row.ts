import { type FieldErrors, ValueError } from '../errors'
import type { Body } from '../request/body'
import { requireFewSeparators } from '../request/body-values'
import { unescapeFormula } from '../request/csv-formulas'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { ValueType } from '../value/value-type'
import { requireWritableField } from './require-field'

/** Adds an error for each name in the first line of CSV that is not a field. */
export function checkCsvNames(view: ResourceView, names: Iterable<string>, errors: FieldErrors): void {
  for (const name of names) {
    if (errors.isFull) break
    errors.try(name, () => requireWritableField(view, name))
  }
}

/**
 * Converts a row of CSV to the body of a POST (specification: Imports). It reads what a list in CSV shows.
 * @param cells texts by the names of fields
 * @param hasEscapes whether an apostrophe in front of a formula is not a part of the text
 * @param maxValues maximum number of values in the JSON of a cell
 * @param errors receives cells that cannot be converted
 * @throws {ApiError} `bad-body` for too many values
 */
export function bodyOfCells(
  view: ResourceView,
  cells: Body,
  hasEscapes: boolean,
  maxValues: number,
  errors: FieldErrors,
): Body {
  const body = new Map<string, unknown>()
  for (const [name, cell] of cells) {
    const field = view.writableFields.get(name)
    if (field === undefined) continue
    const text = hasEscapes ? unescapeFormula(String(cell)) : String(cell)
    const json = errors.try(name, () => jsonOfCell(field, text, maxValues))
    if (json !== undefined) setMember(body, field.path, json)
  }
  return body
}

/** @returns undefined for an empty cell of a field that has a default and cannot be null */
function jsonOfCell(field: Field, text: string, maxValues: number): unknown {
  const { name, valueType, nullable, required } = field
  const parse = (): unknown => parseJson(text, maxValues, `the cell of ${name}`)
  if (text === '') {
    if (nullable) return null
    return required && valueType.name === 'text' ? '' : undefined
  }
  switch (valueType.name) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'integer':
      // An integer that a double cannot represent is a text in JSON.
      return isNumber(text) && !isLarge(text) ? Number(text) : text
    case 'float':
      return isNumber(text) ? Number(text) : text
    case 'enum':
      // Members may be numbers.
      return valueType.fromText(text)
    case 'json': {
      // A list in CSV shows a text in a JSON column without quotes. So a cell is a text if it is not JSON, or is a number or a quoted
      // text that the column would refuse, such as 9007199254740993. Mistakes in objects and arrays are reported.
      const json = parse()
      return json === undefined || (typeof json !== 'object' && !isAccepted(valueType, json)) ? text : json
    }
    case 'array':
      return requireJson(parse())
    case 'other':
      return valueType.schema['type'] === 'string' ? text : requireJson(parse())
    default: {
      // A transformer may store any JSON as a text. Mistakes in objects and arrays are reported, unless it refuses all objects.
      const json = 'type' in valueType.schema ? undefined : parse()
      const isJson =
        typeof json === 'object' && json !== null && (isAccepted(valueType, {}) || isAccepted(valueType, json))
      return isJson ? json : text
    }
  }
}

function isAccepted({ fromJson }: ValueType, json: unknown): boolean {
  try {
    fromJson(json)
    return true
  } catch {
    return false
  }
}

function isNumber(text: string): boolean {
  return /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)
}

/** Whether a text has only the digits of an integer, which a double may not represent. */
function isLarge(text: string): boolean {
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text))
}

/**
 * @returns undefined for a text that is not JSON
 * @throws {ApiError} `bad-body` for too many values
 */
function parseJson(text: string, maxValues: number, subject: string): unknown {
  requireFewSeparators(text, maxValues, subject)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requireJson(json: unknown): unknown {
  if (json === undefined) throw new ValueError('must be JSON')
  return json
}

/** Sets a member of a body. Those of embedded entities are in objects. */
function setMember(body: Map<string, unknown>, [name = '', ...rest]: readonly string[], json: unknown): void {
  const path = [...rest]
  const last = path.pop()
  if (last === undefined) {
    body.set(name, json)
    return
  }
  let target = (body.get(name) ?? {}) as Record<string, unknown>
  body.set(name, target)
  for (const part of path) {
    const next = (target[part] ?? {}) as Record<string, unknown>
    target[part] = next
    target = next
  }
  target[last] = json
}
