import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import { suggestBodyName, suggestName } from './suggestions'

/**
 * Looks up a name that a query uses for a field.
 * @param prefix text of the error message between the parameter's name and "is not a field of note"
 * @throws {ValueError} that lists the fields of the resource
 */
export function requireField(view: FilterNames, name: string, prefix = ''): Field {
  const field = view.fields.get(name)
  if (field !== undefined) return field
  const related = relatedBy(view, name)
  if (related !== undefined) {
    throw new ValueError(`${prefix}leads to ${related.name} records; add one of their fields, as in ${name}__id`)
  }
  const advice = suggestName(view, name, prefix === '')
  const toOne = view.outputFields.filter(({ relation }) => relation && view.related(relation))
  const others = [...view.relations.keys()].filter((relation) => relatedBy(view, relation) !== undefined)
  const relations = [...toOne.map((one) => one.name.replace(/_id$/, '')), ...others]
  throw new ValueError(`${prefix}${noField(view, advice)}${listed('relations', relations)}`)
}

/**
 * Looks up a name that a body uses for a field.
 * @throws {ValueError} that lists the fields of the resource
 */
export function requireWritableField(view: ResourceView, name: string): Field {
  const field = view.writableFields.get(name)
  if (field !== undefined) return field
  const reference = view.fields.get(name)
  if (reference !== undefined) throw new ValueError(`is written as ${reference.name}`)
  const nested = view.nested()
  // A body that may have related records has been separated from them before.
  if (nested.has(name))
    throw new ValueError('cannot be written here: only with a single record, not in arrays and files')
  const related = relatedBy(view, name)
  if (related !== undefined) throw new ValueError(`leads to ${related.name} records; they cannot be written here`)
  throw new ValueError(`${noField(view, suggestBodyName(view, name))}${listed('related records', [...nested.keys()])}`)
}

/** The records to which a relation without a foreign key leads; undefined if there is no such relation. */
function relatedBy(view: FilterNames, name: string): FilterNames | undefined {
  const relation = view.relations.get(name)
  return relation && view.related(relation)
}

const noField = ({ name, outputFields }: FilterNames, advice = ''): string =>
  `is not a field of ${name}; ${advice}fields: ${outputFields.map((field) => field.name).join(', ')}`

const listed = (title: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `; ${title}: ${names.join(', ')}`
