import { enumSchema } from './schema'
import { equalityOperators, refuse, stringJsonType, textOperators, type ValueType } from './value-type'

/** Whether every database can store the text: it has no NUL, which PostgreSQL rejects, and no lone surrogate. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Matches what can be a percent-encoded path segment: neither empty nor `.` or `..`. */
const pathSegment = /^(?!%2E$|%2E%2E$|\.{1,2}$)./i

/**
 * Value type of text.
 * @param maximum greatest length in characters (code points); default: no limit
 * @param minimum least length: 0 or 1
 */
export function textType(maximum = Number.POSITIVE_INFINITY, minimum: 0 | 1 = 0): ValueType {
  const limit = maximum === Number.POSITIVE_INFINITY ? '' : ` of at most ${maximum} characters`
  const description = `text${minimum > 0 ? ' that is not empty,' : ''}${limit}`
  // A filter may contain a longer text than the column can store: it is valid, and equals no stored value.
  const fromText = (text: string): string =>
    isStorableText(text) ? text : refuse('text without NUL characters and lone surrogates')
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
    inPath: pathSegment,
    fromText,
    fromJson: (json) => {
      if (typeof json !== 'string' || json.length < minimum || isTooLong(json)) return refuse(description)
      return fromText(json)
    },
    toJson: String,
  }
}

const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Value type of UUIDs in the form of RFC 9562, stored as text. The case is kept: it is significant in comparisons. */
export const uuidTextType: ValueType = stringJsonType({
  name: 'uuid',
  description: 'a UUID, as 01890a5d-ac96-774b-bcce-b302099a8057',
  schema: { type: 'string', format: 'uuid', examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] },
  operators: equalityOperators,
  exact: true,
  inPath: uuidPattern,
  fromText: (text) => (uuidPattern.test(text) ? text : refuse(uuidTextType.description)),
  toJson: String,
})

/**
 * Value type of UUIDs in a column of the type `uuid`. The database returns them in lower case, so keys in upper case would
 * otherwise not be found among the records that it returns.
 */
export const uuidType: ValueType = stringJsonType({
  ...uuidTextType,
  toCompared: (uuid) => uuid.toLowerCase(),
  fromText: (text) => String(uuidTextType.fromText(text)).toLowerCase(),
})

/** Value type of enumerations. Members that are numbers are numbers in JSON too. */
export function enumType(members: readonly (string | number)[]): ValueType {
  const description = `one of ${members.map((member) => JSON.stringify(member)).join(', ')}`
  const byText = new Map(members.map((member) => [String(member), member]))
  return {
    name: 'enum',
    description,
    schema: enumSchema(members),
    operators: equalityOperators,
    exact: true,
    inPath: pathSegment,
    fromText: (text) => byText.get(text) ?? refuse(description),
    fromJson: (json) => members.find((member) => member === json) ?? refuse(description),
    toJson: (value) => byText.get(String(value)) ?? String(value),
  }
}
