import { type Json, type Kind, nullOperators, refuse } from './kind'
import { orNull } from './schema'

/** A PostgreSQL array of values of one kind. */
export function arrayKind(member: Kind): Kind {
  const description = `an array, each member ${member.description}`
  const fromMember = (one: unknown): unknown => {
    try {
      return one === null ? null : member.fromJson(one)
    } catch {
      return refuse(description)
    }
  }
  const toJson = (value: unknown): Json => {
    if (Array.isArray(value)) return value.map(toJson)
    return value === null ? null : member.toJson(value)
  }
  return {
    description,
    schema: { type: 'array', items: orNull(member.schema) },
    ...(member.written && { written: { type: 'array', items: orNull(member.written) } }),
    operators: nullOperators,
    fromText: () => refuse('compared by "is" only'),
    fromJson: (json) => (Array.isArray(json) ? json.map(fromMember) : refuse(description)),
    toJson,
  }
}
