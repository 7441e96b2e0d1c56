import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { operatorNames } from '../value/value-type'

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
    const isWritten = fields === resource.writableFields
    const advice = isWritten ? 'they are not written here' : `go on with one of their fields, as ${name}__id`
    throw new ValueError(`${lead}leads to ${related.name} records; ${advice}`)
  }
  const names = resource.outputFields.map((shown) => shown.name).join(', ')
  const advice = fields === resource.fields ? suggestionFor(resource, name, lead === '') : ''
  throw new ValueError(`${lead}is not a field of ${resource.name}; ${advice}fields: ${names}`)
}

/** Names that other services have for parameters of a list. */
const parameterNames: ReadonlyMap<string, string> = new Map([
  ...['sort', 'sort_by', 'order', 'order_by', 'orderby'].map((name) => [name, 'ordering'] as const),
  ...['offset', 'skip', 'start'].map((name) => [name, 'page'] as const),
  ...['per_page', 'page_size', 'pagesize', 'size', 'take'].map((name) => [name, 'limit'] as const),
])

/** @param isWhole whether the name is that of a parameter, not a part of it */
function suggestionFor({ fields }: Resource, name: string, isWhole: boolean): string {
  const parameter = isWhole ? parameterNames.get(name.toLowerCase()) : undefined
  if (parameter !== undefined) return `use ${parameter}; `
  const [, base = '', operator = ''] = singleUnderscore.exec(name) ?? []
  return fields.has(base) ? `use ${base}__${operator}; ` : ''
}

const singleUnderscore = new RegExp(`^(.+)_(${operatorNames.join('|')})$`)
