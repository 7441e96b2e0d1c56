import { enumSchema } from './schema'
import { equalityOperators, refuse, textOperators, textualType, type ValueType } from './value-type'

/** Text that every database can store: no NUL (PostgreSQL refuses it), no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** What can stand between two slashes of a path, once it is percent-encoded: not nothing, and not `.` or `..`. */
const segment = /^(?!%2E$|%2E%2E$|\.{1,2}$)./i

/**
 * @param maximum greatest length in characters (code points); without it, any
 * @param minimum least length: 0 or 1
 */
export function textType(maximum = Number.POSITIVE_INFINITY, minimum: 0 | 1 = 0): ValueType {
  const atMost = maximum === Number.POSITIVE_INFINITY ? '' : ` of at most ${maximum} characters`
  const description = `text${minimum > 0 ? ' that is not empty,' : ''}${atMost}`
  // A longer text equals nothing that is stored, but it is a readable question.
  const fromText = (text: string): string =>
    isStorable(text) ? text : refuse('text without NUL characters and lone surrogates')
  const isTooLong = (text: string): boolean => text.length > maximum && [...text].length > maximum
  return {
    name: 'text',
    description,
    schema: {
      type: 'string',
      ...(maximum < Number.POSITIVE_INFINITY && { maxLength: maximum }),
      ...(minimum > 0 && { minLength: minimum }),
    },
    operators: textOperators,
    exact: true,
    inPath: segment,
    fromText,
    fromJson: (json) => {
      if (typeof json !== 'string' || json.length < minimum || isTooLong(json)) return refuse(description)
      return fromText(json)
    },
    toJson: String,
  }
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** A UUID in the form of RFC 9562, as it is stored: a database that keeps it as text minds the case. */
export const uuidType: ValueType = textualType({
  name: 'other',
  description: 'a UUID, as 01890a5d-ac96-774b-bcce-b302099a8057',
  schema: { type: 'string', format: 'uuid', examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] },
  operators: equalityOperators,
  exact: true,
  inPath: uuid,
  fromText: (text) => (uuid.test(text) ? text : refuse(uuidType.description)),
  toJson: String,
})

/** One of the members; numbers stay numbers. */
export function enumType(members: readonly (string | number)[]): ValueType {
  const description = `one of ${members.map((member) => JSON.stringify(member)).join(', ')}`
  const byText = new Map(members.map((member) => [String(member), member]))
  return {
    name: 'other',
    description,
    schema: enumSchema(members),
    operators: equalityOperators,
    exact: true,
    inPath: segment,
    fromText: (text) => byText.get(text) ?? refuse(description),
    fromJson: (json) => members.find((member) => member === json) ?? refuse(description),
    toJson: (value) => byText.get(String(value)) ?? String(value),
  }
}
