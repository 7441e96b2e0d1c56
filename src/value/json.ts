import { enumSchema } from './schema'
import { isStorable } from './text'
import { type Json, nullOperators, refuse, type ValueType } from './value-type'

/** Kinds that are asked only whether they are null never read a text. */
const fromText = (): never => refuse('compared by "is" only')

const maximumDepth = 64

/** Whether a database can hold this JSON as it is. Large values are walked without copies of their parts. */
function isStorableJson(json: unknown, depth: number): boolean {
  if (typeof json === 'string') return isStorable(json)
  if (typeof json === 'number') return isExact(Math.abs(json))
  if (typeof json !== 'object' || json === null) return true
  if (depth === 0) return false
  if (Array.isArray(json)) return json.every((member) => isStorableJson(member, depth - 1))
  return Object.keys(json).every(
    (name) => isStorable(name) && isStorableJson(json[name as keyof typeof json], depth - 1),
  )
}

/**
 * JSON.parse has rounded integers beyond 2^53 already: 9007199254740993 is 9007199254740992. From 1e21 on, JavaScript and others write
 * an exponent, of floats.
 */
function isExact(size: number): boolean {
  return size <= Number.MAX_SAFE_INTEGER || (size >= 1e21 && size < Number.POSITIVE_INFINITY)
}

/** Any JSON. */
export const jsonType: ValueType = {
  name: 'json',
  description: `JSON at most ${maximumDepth} levels deep, without NUL characters, lone surrogates and integers beyond ±(2^53−1): send those as strings`,
  schema: {},
  operators: nullOperators,
  fromText,
  fromJson: (json) => (isStorableJson(json, maximumDepth) ? json : refuse(jsonType.description)),
  toJson: (value) => value as Json,
}

const manyTexts = { type: 'array', examples: [['one', 'two']] }

/** TypeORM's `simple-array`: texts, stored in one column with commas between them. */
export const simpleArrayType: ValueType = {
  name: 'array',
  description: 'an array of texts that are not empty and hold no comma',
  schema: { ...manyTexts, items: { type: 'string' } },
  inputSchema: { ...manyTexts, items: { type: 'string', pattern: '^[^,]+$' } },
  operators: nullOperators,
  fromText,
  fromJson: (json) => (Array.isArray(json) && json.every(isMember) ? json : refuse(simpleArrayType.description)),
  toJson: (value) => value as readonly string[],
}

function isMember(member: unknown): boolean {
  return typeof member === 'string' && member !== '' && !member.includes(',') && isStorable(member)
}

/** Some of the members: MySQL's `SET`. */
export function setType(members: readonly (string | number)[]): ValueType {
  const description = `an array of any of ${members.map((member) => JSON.stringify(member)).join(', ')}`
  const isSet = (json: unknown): boolean =>
    Array.isArray(json) && json.every((one) => members.includes(one)) && new Set(json).size === json.length
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

/** PostgreSQL's `hstore` as an object. */
export const hstoreType: ValueType = {
  name: 'json',
  description: 'an object whose values are texts or null',
  schema: { type: 'object', additionalProperties: { type: ['string', 'null'] }, examples: [{ colour: 'red' }] },
  operators: nullOperators,
  fromText,
  fromJson: (json) => {
    const isStore =
      typeof json === 'object' &&
      json !== null &&
      !Array.isArray(json) &&
      Object.values(json).every((value) => value === null || typeof value === 'string')
    return isStore && isStorableJson(json, 1) ? json : refuse(hstoreType.description)
  },
  toJson: (value) => value as Json,
}

/** PostgreSQL's `cube`: the numbers of a point. */
export const numbersType: ValueType = {
  name: 'array',
  description: 'an array of numbers',
  schema: { type: 'array', items: { type: 'number' }, examples: [[1, 2.5]] },
  operators: nullOperators,
  fromText,
  fromJson: (json) => {
    const isPoint = Array.isArray(json) && json.length > 0 && json.every((one) => Number.isFinite(one))
    return isPoint ? json : refuse(numbersType.description)
  },
  toJson: (value) => (typeof value === 'string' ? value.replace(/[()]/g, '').split(',').map(Number) : (value as Json)),
}
