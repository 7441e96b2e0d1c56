import { equalityOperators, type Json, type Kind, nullOperators, refuse, textOperators } from './kind'

/** Text that every database can store: no NUL (PostgreSQL refuses it), no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** What can stand between two slashes of a path, once it is percent-encoded: not nothing, and not `.` or `..`. */
const segment = /^(?!%2E$|%2E%2E$|\.{1,2}$)./i

/**
 * @param maximum greatest length in characters (code points); without it, any
 * @param minimum least length
 */
export function textKind(maximum = Number.POSITIVE_INFINITY, minimum = 0): Kind {
  const atMost = maximum === Number.POSITIVE_INFINITY ? '' : ` of at most ${maximum} characters`
  const description = `text${minimum > 0 ? ' that is not empty,' : ''}${atMost}`
  const check = (text: string): string => {
    if (!isStorable(text)) refuse('text without NUL characters and lone surrogates')
    const length = text.length > maximum || text.length < minimum ? [...text].length : undefined
    return length !== undefined && (length > maximum || length < minimum) ? refuse(description) : text
  }
  return {
    description,
    operators: textOperators,
    inPath: segment,
    // A longer text equals nothing that is stored, but it is a readable question.
    fromText: (text) => (isStorable(text) ? text : refuse('text without NUL characters and lone surrogates')),
    fromJson: (json) => (typeof json === 'string' ? check(json) : refuse(description)),
    toJson: String,
  }
}

/** A UUID in the form of RFC 9562, as it is stored: a database that keeps it as text minds the case. */
export const uuidKind: Kind = {
  description: 'a UUID, as 01890a5d-ac96-774b-bcce-b302099a8057',
  operators: equalityOperators,
  inPath: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  fromText: (text) => (uuidKind.inPath?.test(text) ? text : refuse(uuidKind.description)),
  fromJson: (json) => (typeof json === 'string' ? uuidKind.fromText(json) : refuse(uuidKind.description)),
  toJson: String,
}

/** One of the members; numbers stay numbers. */
export function enumKind(members: readonly (string | number)[]): Kind {
  const description = `one of ${members.map((member) => JSON.stringify(member)).join(', ')}`
  const byText = new Map(members.map((member) => [String(member), member]))
  return {
    description,
    operators: equalityOperators,
    inPath: segment,
    fromText: (text) => byText.get(text) ?? refuse(description),
    fromJson: (json) => members.find((member) => member === json) ?? refuse(description),
    toJson: (value) => byText.get(String(value)) ?? String(value),
  }
}

const jsonDepth = 64

/** Whether a database can hold this JSON as it is: texts that are storable, finite numbers, not too deep. */
function isStorableJson(json: unknown, depth: number): boolean {
  if (typeof json === 'string') return isStorable(json)
  if (typeof json === 'number') return Number.isFinite(json)
  if (typeof json !== 'object' || json === null) return true
  return (
    depth > 0 && Object.entries(json).every(([name, member]) => isStorable(name) && isStorableJson(member, depth - 1))
  )
}

/** Any JSON; it can be asked whether it is null, no more. */
export const jsonKind: Kind = {
  description: `JSON at most ${jsonDepth} levels deep, without NUL characters, lone surrogates and numbers beyond 1.8e308`,
  operators: nullOperators,
  fromText: () => refuse('compared by "is" only'),
  fromJson: (json) => (isStorableJson(json, jsonDepth) ? json : refuse(jsonKind.description)),
  toJson: (value) => value as Json,
}

/** TypeORM's `simple-array`: texts, stored in one column with commas between them. */
export const simpleArrayKind: Kind = {
  description: 'an array of texts that are not empty and hold no comma',
  operators: nullOperators,
  fromText: () => refuse('compared by "is" only'),
  fromJson: (json) => (Array.isArray(json) && json.every(isArrayMember) ? json : refuse(simpleArrayKind.description)),
  toJson: (value) => (Array.isArray(value) ? value.map(String) : String(value)),
}

function isArrayMember(member: unknown): boolean {
  return typeof member === 'string' && member !== '' && !member.includes(',') && isStorable(member)
}
