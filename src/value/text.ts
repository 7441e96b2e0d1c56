import { equalityOperators, type Json, type Kind, nullOperators, refuse, textOperators } from './kind'

/** Text that every database can store: no NUL (PostgreSQL refuses it), no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

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
    // A longer text equals nothing that is stored, but it is a readable question.
    fromText: (text) => (isStorable(text) ? text : refuse('text without NUL characters and lone surrogates')),
    fromJson: (json) => (typeof json === 'string' ? check(json) : refuse(description)),
    toJson: String,
  }
}

/** The canonical form of RFC 9562, in lower case. */
export const uuidKind: Kind = {
  description: 'a UUID, as 01890a5d-ac96-774b-bcce-b302099a8057',
  operators: equalityOperators,
  fromText: (text) =>
    /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? text.toLowerCase() : refuse(uuidKind.description),
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
    fromText: (text) => byText.get(text) ?? refuse(description),
    fromJson: (json) => members.find((member) => member === json) ?? refuse(description),
    toJson: (value) => byText.get(String(value)) ?? String(value),
  }
}

const jsonDepth = 64

function depth(json: unknown, limit: number): number {
  if (typeof json !== 'object' || json === null || limit === 0) return 0
  let deepest = 0
  for (const member of Object.values(json)) deepest = Math.max(deepest, depth(member, limit - 1))
  return deepest + 1
}

/** Any JSON; it can be asked whether it is null, no more. */
export const jsonKind: Kind = {
  description: `JSON at most ${jsonDepth} levels deep, without NUL characters and lone surrogates`,
  operators: nullOperators,
  fromText: () => refuse('compared by "is" only'),
  fromJson: (json) => {
    if (depth(json, jsonDepth + 1) > jsonDepth) refuse(jsonKind.description)
    const text = JSON.stringify(json)
    if (!text.isWellFormed() || /\\u(0000|d[89a-f][\da-f]{2})/.test(text)) refuse(jsonKind.description)
    return json
  },
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
