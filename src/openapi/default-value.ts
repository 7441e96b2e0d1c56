import type { Field } from '../schema/field'
import type { Json } from '../value/value-type'

/** What a POST that leaves the field out gets, where that is always the same. */
export function defaultOf({ columns: [first], valueType }: Field): Json | undefined {
  if (first === undefined) return undefined
  const { column } = first
  const make = (): unknown => column.getEntityValue(column.entityMetadata.create()) ?? column.default
  const value = make()
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
  // A class may give each record another, as a UUID.
  if (!isPlain || column.transformer !== undefined || make() !== value) return undefined
  try {
    return valueType.toJson(valueType.fromJson(value))
  } catch {
    // A default as SQL, which is no value of the kind.
    return undefined
  }
}
