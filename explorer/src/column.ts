import { parameterIn } from './filter-field'
import { columnsIn } from './include'
import type { Field, Model, Resource } from './model'

/** A column of a list: a field of its records, or of a related record. */
export interface Column {
  /** Name as in the parameter `ordering`: `country__name`. */
  readonly name: string
  readonly field: Field
  readonly path: readonly string[]
  readonly isSortable: boolean
}

/** Columns of a list: the fields of its records, each foreign key followed by the chosen fields of its record. */
export function columnsOf(model: Model, resource: Resource, query: URLSearchParams): readonly Column[] {
  const { fields, filters, relations, orderings, relatedOrderings } = resource
  const shown = parameterIn(filters, query, 'fields')?.split(',')
  const related = columnsIn(model, resource, parameterIn(filters, query, 'include'))
  const own = fields.filter(({ name }) => name === 'id' || (shown?.includes(name) ?? true))
  const ownColumns = own.map(
    (field): Column => ({ name: field.name, field, path: field.path, isSortable: orderings.has(field.name) }),
  )
  const relatedColumns = relations.map(({ name: relation, path, foreignKey, target }) => {
    const names = related?.get(relation) ?? []
    const columns = (model.resources.get(target)?.fields ?? [])
      .filter((field) => names.includes(field.name))
      .map((field): Column => {
        const name = `${relation}__${field.name}`
        return { name, field, path: [...path, ...field.path], isSortable: relatedOrderings.includes(name) }
      })
    return { foreignKey, columns }
  })
  const after = (field: Field): readonly Column[] =>
    relatedColumns.find(({ foreignKey }) => foreignKey === field)?.columns ?? []
  const rest = relatedColumns.filter(({ foreignKey }) => !own.includes(foreignKey)).flatMap(({ columns }) => columns)
  return [...ownColumns.flatMap((column) => [column, ...after(column.field)]), ...rest]
}
