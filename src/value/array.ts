import { orNull } from './schema'
import { type Json, nullOperators, refuse, type ValueType } from './value-type'

/** A PostgreSQL array of values of one kind. */
export function arrayType(member: ValueType): ValueType {
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
    name: 'array',
    description,
    schema: { type: 'array', items: orNull(member.schema) },
    ...(member.inputSchema && { inputSchema: { type: 'array', items: orNull(member.inputSchema) } }),
    operators: nullOperators,
    fromText: () => refuse('compared by "is" only'),
    fromJson: (json) => (Array.isArray(json) ? json.map(fromMember) : refuse(description)),
    toJson,
  }
}
