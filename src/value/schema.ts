import type { Json, JsonSchema } from './value-type'

/** The same, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: members } = schema
  // Without a type it is anything, null too.
  if (type === undefined && members === undefined) return schema
  return {
    ...schema,
    ...(type !== undefined && { type: [type, 'null'].flat() as readonly Json[] }),
    ...(Array.isArray(members) && { enum: [...(members as readonly Json[]), null] }),
  }
}

/** Any of these values. */
export function enumSchema(members: readonly (string | number)[]): JsonSchema {
  const types = [...new Set(members.map((member) => (typeof member === 'string' ? 'string' : 'number')))]
  const [type] = types
  return { ...(type !== undefined && { type: types.length === 1 ? type : types }), enum: members }
}
