import type { JsonSchema } from '../value/value-type'

/** A value in an object or in a nested object. */
export interface Member {
  readonly path: readonly string[]
  readonly required: boolean
  readonly schema: JsonSchema
}

/**
 * Schema of an object. Members with longer paths become nested objects.
 * @param keywords added to this schema and to nested ones
 */
export function objectSchema(members: readonly Member[], keywords: JsonSchema = {}): JsonSchema {
  const groups = new Map<string, Member[]>()
  for (const member of members) {
    const [name = ''] = member.path
    groups.set(name, [...(groups.get(name) ?? []), member])
  }
  const properties = [...groups].map(([name, group]): [string, JsonSchema] => {
    const nestedMembers = group.filter(({ path }) => path.length > 1)
    const [first] = group
    if (nestedMembers.length === 0) return [name, first?.schema ?? {}]
    const innerMembers = nestedMembers.map((member) => ({ ...member, path: member.path.slice(1) }))
    return [name, objectSchema(innerMembers, keywords)]
  })
  const required = [...groups].filter(([, group]) => group.some((member) => member.required)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...keywords,
  }
}

/** Schema of an object that allows no other members (specification: Strict types). */
export function closedObject(members: readonly Member[]): JsonSchema {
  return objectSchema(members, { additionalProperties: false })
}
