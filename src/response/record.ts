import type { Row } from '../query/row'
import type { Resource } from '../schema/registry'
import type { Json } from '../value/kind'

/** The JSON object of one record (spec.md, Record representation). */
export function renderRecord({ record }: Resource, row: Row): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    record.map((field, index) => {
      const value = row[index]
      return [field.name, value === null || value === undefined ? null : field.kind.toJson(value)]
    }),
  )
}
