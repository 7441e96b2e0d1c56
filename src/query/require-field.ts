import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { operatorNames } from '../value/value-type'

/**
 * Looks up a name that a request uses for a field.
 * @param fields fields by the names that are allowed: `resource.fields` in queries, `resource.writableFields` in bodies
 * @param prefix text of the error message between the parameter's name and "is not a field of note"
 * @throws {ValueError} that lists the fields of the resource
 */
export function requireField(resource: Resource, fields: ReadonlyMap<string, Field>, name: string, prefix = ''): Field {
  const field = fields.get(name)
  if (field !== undefined) return field
  const reference = resource.fields.get(name)
  if (reference !== undefined) throw new ValueError(`is written as ${reference.name}`)
  const relation = resource.relations.get(name)
  const related = relation && resource.related(relation)
  if (related !== undefined) {
    const isInBody = fields === resource.writableFields
    const advice = isInBody ? 'they cannot be written here' : `add one of their fields, as in ${name}__id`
    throw new ValueError(`${prefix}leads to ${related.name} records; ${advice}`)
  }
  const names = resource.outputFields.map((outputField) => outputField.name).join(', ')
  const advice = fields === resource.fields ? suggestionFor(resource, name, prefix === '') : ''
  throw new ValueError(`${prefix}is not a field of ${resource.name}; ${advice}fields: ${names}`)
}

/** Parameters of lists by the names that they have in other services, in lower case. */
const parameterAliases: ReadonlyMap<string, string> = new Map([
  ...['sort', 'sort_by', 'order', 'order_by', 'orderby'].map((name) => [name, 'ordering'] as const),
  ...['offset', 'skip', 'start'].map((name) => [name, 'page'] as const),
  ...['per_page', 'page_size', 'pagesize', 'size', 'take'].map((name) => [name, 'limit'] as const),
])

/**
 * Advice for an unknown name.
 * @param isWholeName whether the name is the whole name of a parameter, not a part of it
 */
function suggestionFor({ fields }: Resource, name: string, isWholeName: boolean): string {
  const parameter = isWholeName ? parameterAliases.get(name.toLowerCase()) : undefined
  if (parameter !== undefined) return `use ${parameter}; `
  const [, base = '', operator = ''] = singleUnderscore.exec(name) ?? []
  return fields.has(base) ? `use ${base}__${operator}; ` : ''
}

/** Name of a field and an operator with one underscore between them instead of two: `score_gt`. */
const singleUnderscore = new RegExp(`^(.+)_(${operatorNames.join('|')})$`)
