import { ApiError, type FieldErrors, ValueError } from '../errors'
import { maxBodyLevels, tooManyLevels } from './body-values'

/** A reference of a body to a member of the result of an earlier operation: `{ "$ref": "0.id" }`. */
export interface Reference {
  /** Index of the operation. */
  readonly index: number
  /** Names of members, from the outermost to the innermost; indexes of arrays are names too. */
  readonly path: readonly string[]
}

/** Maximum length of the text of a reference, in characters. */
const maxReferenceLength = 256

/**
 * Checks the references in the body of an operation.
 * @param index index of the operation: a reference must name an earlier one
 * @param errors receives every error
 * @returns whether there are references
 * @throws {ApiError} `bad-body` if the body is nested too deeply
 */
export function requireReferences(body: unknown, index: number, errors: FieldErrors): boolean {
  let hasReferences = false
  replaceReferences(body, (text) => {
    hasReferences = true
    errors.try('$ref', () => parseReference(text, index))
  })
  return hasReferences
}

/**
 * The references of a body, by the index of the operation to whose result they refer.
 * @param index index of the operation that has the body
 */
export function referencesOf(body: unknown, index: number): ReadonlyMap<number, readonly Reference[]> {
  const references = new Map<number, Reference[]>()
  replaceReferences(body, (text) => {
    const reference = parseReference(text, index)
    const others = references.get(reference.index)
    if (others === undefined) references.set(reference.index, [reference])
    else others.push(reference)
  })
  return references
}

/**
 * Copies a body, with the values to which its references refer.
 * @param index index of the operation
 * @param values of the references, by their text
 */
export function resolveReferences(body: unknown, index: number, values: ReadonlyMap<string, unknown>): unknown {
  return replaceReferences(body, (text) => values.get(textOf(parseReference(text, index))))
}

/** Text that identifies a reference. */
export function textOf({ index, path }: Reference): string {
  return [index, ...path].join('.')
}

/**
 * Copies JSON, and replaces each object that has `$ref` as its only member.
 * @throws {ApiError} `bad-body` if it is nested too deeply
 */
function replaceReferences(json: unknown, replace: (reference: unknown) => unknown, depth = 0): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (depth === maxBodyLevels) throw tooManyLevels(maxBodyLevels)
  if (Array.isArray(json)) return json.map((member) => replaceReferences(member, replace, depth + 1))
  const members = Object.entries(json)
  const [[name, reference] = []] = members
  if (members.length === 1 && name === '$ref') return replace(reference)
  // Creates own properties, also with the name `__proto__`.
  return Object.fromEntries(members.map(([key, member]) => [key, replaceReferences(member, replace, depth + 1)]))
}

/** @throws {ValueError} */
function parseReference(text: unknown, index: number): Reference {
  const [start = '', ...path] = typeof text === 'string' && text.length <= maxReferenceLength ? text.split('.') : []
  const isReference = /^(0|[1-9]\d{0,8})$/.test(start) && path.length > 0 && path.every((name) => name !== '')
  if (!isReference) {
    throw new ValueError(
      'must be the index of an earlier operation, a dot and the name of a member of its result, as in "0.id"',
    )
  }
  if (Number(start) >= index) {
    throw new ValueError(`refers to operation ${start}, which is not before this one, operation ${index}`)
  }
  return { index: Number(start), path }
}

/**
 * The value to which a reference refers.
 * @param result JSON of the result of the operation
 * @throws {ApiError} `bad-values` if there is no such member, or if it is an object or an array
 */
export function valueAt(result: unknown, { index, path }: Reference): string | number | boolean | null {
  let value = result
  for (const name of path) {
    if (!hasMember(value, name))
      throw refused(`refers to ${name}, which the result of operation ${index} does not have`)
    value = value[name]
  }
  if (typeof value === 'object' && value !== null) {
    throw refused(`refers to an object or an array in the result of operation ${index}; refer to one of its members`)
  }
  return value as string | number | boolean | null
}

function refused(message: string): ApiError {
  return new ApiError('bad-values', `$ref ${message}`, { errors: [{ field: '$ref', message }] })
}

/** Whether JSON has a member. Properties that it inherits, and the length of an array, are not members. */
function hasMember(json: unknown, name: string): json is Readonly<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null || (Array.isArray(json) && !/^\d+$/.test(name))) return false
  return Object.hasOwn(json, name)
}
