import type { Field } from '../schema/field'
import { entityValue } from '../schema/metadata'
import type { Json } from '../value/value-type'

/**
 * Value of a field that a POST leaves out.
 * @returns undefined if it is not always the same or cannot be shown as JSON
 */
export function defaultOf({ columns: [first], valueType }: Field): Json | undefined {
  if (first === undefined) return undefined
  const { column } = first
  const createDefault = (): unknown => entityValue(column, column.entityMetadata.create()) ?? column.default
  const value = createDefault()
  const isPrimitive = ['string', 'number', 'boolean'].includes(typeof value)
  // A property initializer may create a different value for each record, such as a UUID.
  if (!isPrimitive || column.transformer !== undefined || createDefault() !== value) return undefined
  try {
    return valueType.toJson(valueType.fromJson(value))
  } catch {
    // The default is SQL, not a value of the column's type.
    return undefined
  }
}
