import { type Json, type Kind, nullOperators, refuse } from './kind'
import { isStorable } from './text'

/** Kinds that are asked only whether they are null never read a text. */
const fromText = (): never => refuse('compared by "is" only')

const maximumDepth = 64

/** Whether a database can hold this JSON as it is. */
function isStorableJson(json: unknown, depth: number): boolean {
  if (typeof json === 'string') return isStorable(json)
  if (typeof json === 'number') return Number.isFinite(json)
  if (typeof json !== 'object' || json === null) return true
  return (
    depth > 0 && Object.entries(json).every(([name, member]) => isStorable(name) && isStorableJson(member, depth - 1))
  )
}

/** Any JSON. */
export const jsonKind: Kind = {
  description: `JSON at most ${maximumDepth} levels deep, without NUL characters, lone surrogates and numbers beyond 1.8e308`,
  operators: nullOperators,
  fromText,
  fromJson: (json) => (isStorableJson(json, maximumDepth) ? json : refuse(jsonKind.description)),
  toJson: (value) => value as Json,
}

/** TypeORM's `simple-array`: texts, stored in one column with commas between them. */
export const simpleArrayKind: Kind = {
  description: 'an array of texts that are not empty and hold no comma',
  operators: nullOperators,
  fromText,
  fromJson: (json) => (Array.isArray(json) && json.every(isMember) ? json : refuse(simpleArrayKind.description)),
  toJson: (value) => value as readonly string[],
}

function isMember(member: unknown): boolean {
  return typeof member === 'string' && member !== '' && !member.includes(',') && isStorable(member)
}
