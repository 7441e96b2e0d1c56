import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import { withoutExponent } from '../value/number'
import type { OperatorName } from '../value/value-type'
import type { ObjectFilter, Scalar } from './filter-object'
import type { IsValue } from './query'

/** Operands of `is` by their spelling in a request. */
const isValues: ReadonlyMap<string, IsValue> = new Map<string, IsValue>([
  ['null', 'null'],
  ['none', 'null'],
  ['not_null', 'not_null'],
  ['true', true],
  ['false', false],
])

type PatternLimit = Pick<Limits, 'pattern'>

/**
 * Parses the operand of a filter: one value, or the members of an `in` list (specification: Operators).
 * @throws {ValueError}
 */
export function parseOperand(
  field: Field,
  operator: OperatorName,
  text: string,
  limits: PatternLimit,
): readonly unknown[] {
  if (operator === 'in') return parseMembers(text).map((member) => parseMember(field, member))
  if (operator === 'is') return [parseIs(field, text)]
  const value = isPattern(operator) ? parsePattern(field, text, limits) : field.valueType.fromText(text)
  if (operator !== 'eq' && operator !== 'ne' && field.valueType.nulls?.isStoredAsNull(value)) {
    throw new ValueError('has a value that is stored as null, which only eq, ne, in and is can compare')
  }
  return [value]
}

/** Whether the operand of an operator is a LIKE pattern, to which the limits of patterns apply. */
export function isPattern(operator: OperatorName): boolean {
  return operator === 'like' || operator === 'ilike'
}

/**
 * Parses the operand of a filter of an application, which no limits apply to (specification: Filter objects).
 * @throws {ValueError}
 */
export function parseObjectOperand(
  field: Field,
  operator: OperatorName,
  { operand }: ObjectFilter,
): readonly unknown[] {
  if ((operator === 'in') !== Array.isArray(operand)) {
    throw new ValueError(operator === 'in' ? 'must be an array' : 'must not be an array')
  }
  if (Array.isArray(operand)) return operand.map((member: Scalar) => field.valueType.fromText(textOf(field, member)))
  return parseOperand(field, operator, textOf(field, operand as Scalar), { pattern: Number.POSITIVE_INFINITY })
}

/** The text of a value in a query string. A `Date` that is compared with dates is its date in UTC. */
function textOf({ valueType }: Field, value: Scalar): string {
  if (typeof value === 'number' && valueType.name === 'decimal') return withoutExponent(value)
  if (!(value instanceof Date)) return String(value)
  const text = value.toISOString()
  return valueType.name === 'date' ? text.slice(0, 'YYYY-MM-DD'.length) : text
}

function parseIs(field: Field, text: string): IsValue {
  const value = isValues.get(text.toLowerCase())
  const allowed = field.valueType.name === 'boolean' ? 'null, not_null, true or false' : 'null or not_null'
  if (value === undefined || (typeof value === 'boolean' && field.valueType.name !== 'boolean')) {
    throw new ValueError(`must be ${allowed}`)
  }
  return value
}

function parsePattern(field: Field, text: string, { pattern: maxLength }: PatternLimit): unknown {
  if (text.length > maxLength) {
    throw new ValueError(`takes a pattern of at most ${maxLength} characters, this has ${text.length}`)
  }
  if (/^(?:[^\\]|\\.)*\\$/su.test(text)) {
    throw new ValueError('ends with "\\", which must be followed by the character that it escapes')
  }
  return field.valueType.fromText(text)
}

/** @throws {ValueError} that names the member */
function parseMember({ valueType }: Field, member: string): unknown {
  try {
    return valueType.fromText(member)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    const shown = member.length > maxShownMember ? `${member.slice(0, maxShownMember)}…` : member
    throw new ValueError(`has the member "${shown}", which ${error.message}`)
  }
}

/** Maximum number of characters of a member in an error. */
const maxShownMember = 40

/** Splits a list at its commas. A member in double quotes may contain commas; a quote in it is written as `""`. */
function parseMembers(text: string): readonly string[] {
  const list = `${text},`
  const matches = [...list.matchAll(/(?:"((?:[^"]|"")*)"|([^",]*)),/gy)]
  if (matches.reduce((length, [match]) => length + match.length, 0) < list.length) {
    throw new ValueError('has a member whose quotes do not match')
  }
  return matches.map(([, quoted, unquoted]) => {
    if (unquoted === '') throw new ValueError('has an empty member; "" stands for the empty text')
    return quoted?.replaceAll('""', '"') ?? unquoted ?? ''
  })
}
