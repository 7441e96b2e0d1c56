import type { JsonSchema } from '../value/value-type'

/** A value of an object, or of one within it. */
export interface Member {
  readonly path: readonly string[]
  readonly required: boolean
  readonly schema: JsonSchema
}

/** Embedded entities are objects within it. @param rest what it says of itself, and of these too */
export function objectSchema(members: readonly Member[], rest: JsonSchema = {}): JsonSchema {
  const groups = new Map<string, Member[]>()
  for (const member of members) {
    const [name = ''] = member.path
    groups.set(name, [...(groups.get(name) ?? []), member])
  }
  const properties = [...groups].map(([name, group]): [string, JsonSchema] => {
    const within = group.filter(({ path }) => path.length > 1)
    const [first] = group
    if (within.length === 0) return [name, first?.schema ?? {}]
    const parts = within.map((member) => ({ ...member, path: member.path.slice(1) }))
    return [name, objectSchema(parts, rest)]
  })
  const required = [...groups].filter(([, group]) => group.some((member) => member.required)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...rest,
  }
}

/** Fields that are not known are refused (specification: Strict types). */
export function closedObject(members: readonly Member[]): JsonSchema {
  return objectSchema(members, { additionalProperties: false })
}
