import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'

/**
 * Looks a name up among those that a request may use: `resource.fields` to ask, `resource.inputs` to write.
 * @param lead what the sentence says between the parameter's name and "is not a field of note"
 * @throws {ValueError} that names the fields there are
 */
export function requireField(resource: Resource, fields: ReadonlyMap<string, Field>, name: string, lead = ''): Field {
  const field = fields.get(name)
  if (field !== undefined) return field
  const reference = resource.fields.get(name)
  if (reference !== undefined) throw new ValueError(`is written as ${reference.name}`)
  const relation = resource.relations.get(name)
  const related = relation && resource.related(relation)
  if (related !== undefined) {
    const isWritten = fields === resource.inputs
    const advice = isWritten ? 'they are not written here' : `go on with one of their fields, as ${name}__id`
    throw new ValueError(`${lead}leads to ${related.name} records; ${advice}`)
  }
  const names = resource.record.map((shown) => shown.name).join(', ')
  throw new ValueError(`${lead}is not a field of ${resource.name}; fields: ${names}`)
}
