import type { FieldErrors } from '../errors'
import type { Field } from '../schema/field'
import type { FilterNames, ResourceView } from '../schema/resource-view'

/** The fields that a request selects with `fields` (specification: Selected fields). */
export interface FieldSelection {
  /** In the order of the record, the key first. */
  readonly fields: readonly Field[]
  /** Identifies the selection among those of the same view, in keys of caches. */
  readonly cacheKey: string
}

/**
 * Parses the names in `fields`. The name of an embedded entity selects all its fields.
 * @param errors receives every name that is not a field
 */
export function parseFieldSelection(
  view: FilterNames,
  names: readonly string[] | undefined,
  errors: FieldErrors,
): FieldSelection | undefined {
  if (names === undefined) return undefined
  const { outputFields } = view
  const selected = new Set(outputFields.slice(0, 1))
  for (const name of new Set(names)) {
    if (errors.isFull) break
    const fields = fieldsOf(view, name)
    for (const field of fields) selected.add(field)
    if (fields.length === 0) errors.add('fields', unknownField(view, name))
  }
  const fields = outputFields.filter((field) => selected.has(field))
  return { fields, cacheKey: fields.map((field) => outputFields.indexOf(field)).join() }
}

function fieldsOf({ fields, outputFields }: FilterNames, name: string): readonly Field[] {
  const field = fields.get(name)
  return field === undefined ? outputFields.filter((one) => one.name.startsWith(`${name}__`)) : [field]
}

function unknownField({ name: resource, outputFields }: FilterNames, name: string): string {
  const names = outputFields.map((field) => field.name).join(', ')
  return `names "${name}", which is not a field of ${resource}; fields: ${names}`
}

/** Returns the view with the selected fields only. */
export function narrowView(view: ResourceView, { fields, cacheKey }: FieldSelection): ResourceView {
  return {
    ...view,
    outputFields: fields,
    // Load listeners receive the whole entity.
    columns: view.lifecycle.load ? view.columns : [...new Set(fields.flatMap(({ columns }) => columns))],
    cacheKey: `${view.cacheKey} fields ${cacheKey}`,
  }
}
