import type { Json, JsonSchema } from './value-type'

/** A schema that also accepts null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: members } = schema
  // A schema without a type accepts every value, including null.
  if (type === undefined && members === undefined) return schema
  return {
    ...schema,
    ...(type !== undefined && { type: [type, 'null'].flat() as readonly Json[] }),
    ...(Array.isArray(members) && { enum: [...(members as readonly Json[]), null] }),
  }
}

/** A schema of an enumeration. */
export function enumSchema(members: readonly (string | number)[]): JsonSchema {
  const types = [...new Set(members.map((member) => (typeof member === 'string' ? 'string' : 'number')))]
  const [type] = types
  return { ...(type !== undefined && { type: types.length === 1 ? type : types }), enum: members }
}
