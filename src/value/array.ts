import { orNull } from './schema'
import { type Json, nullOperators, refuse, type ValueType } from './value-type'

/**
 * Value type of PostgreSQL arrays, also of several dimensions when rendered.
 * @param member value type of the members
 */
export function arrayType(member: ValueType): ValueType {
  const description = `an array, each member ${member.description}`
  const parseMember = (json: unknown): unknown => {
    try {
      return json === null ? null : member.fromJson(json)
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
    fromJson: (json) => (Array.isArray(json) ? json.map(parseMember) : refuse(description)),
    toJson,
  }
}
