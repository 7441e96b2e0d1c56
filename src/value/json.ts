import { enumSchema } from './schema'
import { isStorableText } from './text'
import { type Json, nullOperators, refuse, type ValueType } from './value-type'

/** For value types that can only be tested for null: a filter never contains a value of them. */
const fromText = (): never => refuse('compared by "is" only')

/** Greatest number of levels of arrays and objects within each other. */
const maxJsonDepth = 64

/** Whether databases store this JSON without changing it. Does not copy parts of the value, which may be large. */
function isStorableJson(json: unknown, depth: number): boolean {
  if (typeof json === 'string') return isStorableText(json)
  if (typeof json === 'number') return isExact(Math.abs(json))
  if (typeof json !== 'object' || json === null) return true
  if (depth === 0) return false
  if (Array.isArray(json)) return json.every((member) => isStorableJson(member, depth - 1))
  return Object.keys(json).every(
    (name) => isStorableText(name) && isStorableJson(json[name as keyof typeof json], depth - 1),
  )
}

/**
 * Whether a number cannot be an integer that `JSON.parse` has rounded. It rounds integers beyond 2^53: 9007199254740993
 * becomes 9007199254740992. Numbers from 1e21 on are accepted: JavaScript and other languages write these with an
 * exponent, as floats.
 */
function isExact(magnitude: number): boolean {
  return magnitude <= Number.MAX_SAFE_INTEGER || (magnitude >= 1e21 && magnitude < Number.POSITIVE_INFINITY)
}

/** Value type of columns that store any JSON. */
export const jsonType: ValueType = {
  name: 'json',
  description:
    `JSON at most ${maxJsonDepth} levels deep, without NUL characters, lone surrogates or integers beyond ±(2^53−1); ` +
    'send such integers as strings',
  schema: {},
  operators: nullOperators,
  fromText,
  fromJson: (json) => (isStorableJson(json, maxJsonDepth) ? json : refuse(jsonType.description)),
  toJson: (value) => value as Json,
}

const stringArraySchema = { type: 'array', examples: [['one', 'two']] }

/** Value type of TypeORM's `simple-array`: strings, stored in one column and separated by commas. */
export const simpleArrayType: ValueType = {
  name: 'array',
  description: 'an array of strings that are not empty and contain no comma',
  schema: { ...stringArraySchema, items: { type: 'string' } },
  inputSchema: { ...stringArraySchema, items: { type: 'string', pattern: '^[^,]+$' } },
  operators: nullOperators,
  fromText,
  fromJson: (json) =>
    Array.isArray(json) && json.every(isSimpleArrayMember) ? json : refuse(simpleArrayType.description),
  toJson: (value) => value as readonly string[],
}

function isSimpleArrayMember(member: unknown): boolean {
  return typeof member === 'string' && member !== '' && !member.includes(',') && isStorableText(member)
}

/** Value type of an array that contains each of the members at most once, such as MySQL's `SET`. */
export function setType(members: readonly (string | number)[]): ValueType {
  const allowed = members.map((member) => JSON.stringify(member)).join(', ')
  const description = `an array, without duplicates, of any of ${allowed}`
  const isSet = (json: unknown): boolean =>
    Array.isArray(json) && json.every((member) => members.includes(member)) && new Set(json).size === json.length
  return {
    name: 'array',
    description,
    schema: { type: 'array', items: enumSchema(members), uniqueItems: true },
    operators: nullOperators,
    fromText,
    fromJson: (json) => (isSet(json) ? json : refuse(description)),
    toJson: (value) => (Array.isArray(value) ? value : String(value).split(',')).filter((member) => member !== ''),
  }
}

/** Value type of PostgreSQL's `hstore` as an object. */
export const hstoreType: ValueType = {
  name: 'json',
  description: 'an object whose values are strings or null',
  schema: { type: 'object', additionalProperties: { type: ['string', 'null'] }, examples: [{ colour: 'red' }] },
  operators: nullOperators,
  fromText,
  fromJson: (json) => {
    const isHstore =
      typeof json === 'object' &&
      json !== null &&
      !Array.isArray(json) &&
      Object.values(json).every((value) => value === null || typeof value === 'string')
    return isHstore && isStorableJson(json, 1) ? json : refuse(hstoreType.description)
  },
  toJson: (value) => value as Json,
}

/** Value type of PostgreSQL's `cube`: the coordinates of a point. */
export const cubeType: ValueType = {
  name: 'array',
  description: 'an array of numbers',
  schema: { type: 'array', items: { type: 'number' }, examples: [[1, 2.5]] },
  operators: nullOperators,
  fromText,
  fromJson: (json) => {
    const isPoint = Array.isArray(json) && json.length > 0 && json.every((coordinate) => Number.isFinite(coordinate))
    return isPoint ? json : refuse(cubeType.description)
  },
  toJson: (value) => (typeof value === 'string' ? value.replace(/[()]/g, '').split(',').map(Number) : (value as Json)),
}
