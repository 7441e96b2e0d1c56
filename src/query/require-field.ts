import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { FilterNames } from '../schema/resource-view'
import { suggestName } from './suggestions'

/**
 * Looks up a name that a request uses for a field.
 * @param fields fields by the names that are allowed: `view.fields` in queries, `view.writableFields` in bodies
 * @param prefix text of the error message between the parameter's name and "is not a field of note"
 * @throws {ValueError} that lists the fields of the resource
 */
export function requireField(view: FilterNames, fields: ReadonlyMap<string, Field>, name: string, prefix = ''): Field {
  const field = fields.get(name)
  if (field !== undefined) return field
  const isInQuery = fields === view.fields
  const reference = view.fields.get(name)
  if (reference !== undefined) throw new ValueError(`is written as ${reference.name}`)
  const relation = view.relations.get(name)
  const related = relation && view.related(relation)
  if (related !== undefined) {
    const advice = isInQuery ? `add one of their fields, as in ${name}__id` : 'they cannot be written here'
    throw new ValueError(`${prefix}leads to ${related.name} records; ${advice}`)
  }
  const names = view.outputFields.map((outputField) => outputField.name).join(', ')
  const advice = isInQuery ? suggestName(view, name, prefix === '') : ''
  const relations = isInQuery ? relationsOf(view) : ''
  throw new ValueError(`${prefix}is not a field of ${view.name}; ${advice}fields: ${names}${relations}`)
}

/** The relations without a foreign key that filters may follow, as the end of an error message. */
function relationsOf(view: FilterNames): string {
  const names = [...view.relations].flatMap(([name, relation]) => (view.related(relation) === undefined ? [] : [name]))
  return names.length === 0 ? '' : `; relations: ${names.join(', ')}`
}
