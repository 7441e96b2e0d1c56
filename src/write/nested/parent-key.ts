import type { ChangeSet } from '../../query/query'
import { joinColumnValues, splitColumnValues } from '../../read/row'
import type { Field } from '../../schema/field'
import type { NestedList, ResourceView } from '../../schema/resource-view'
import type { StoredColumn } from '../../schema/stored-column'
import { isSameValue } from '../../value/value-type'

/** Name in the database of a column, which identifies it among the columns of a table. */
const nameOf = ({ column }: StoredColumn): string => column.databaseName

/** Whether a field has a column of the foreign key to the parent. */
export function sharesParentKey({ foreignKey }: NestedList, { columns }: Field): boolean {
  const names = new Set(foreignKey.columns.map(nameOf))
  return columns.some((column) => names.has(nameOf(column)))
}

/**
 * The fields of a related record whose values the key of the parent determines: the foreign key, and the fields for
 * its columns, if the entity declares these as properties.
 */
export function fieldsOfParentKey({ foreignKey, target }: NestedList): readonly Field[] {
  const names = new Set(foreignKey.columns.map(nameOf))
  const others = [...target.writableFields.values()].filter(
    (field) => field !== foreignKey && field.columns.every((column) => names.has(nameOf(column))),
  )
  return [...others, foreignKey]
}

/** The values of {@link fieldsOfParentKey}. @param key key of the parent */
export function parentKeyValues(relation: NestedList, parent: ResourceView, key: unknown): ChangeSet {
  const byColumn = columnValuesOf(relation, parent, key)
  return new Map(
    fieldsOfParentKey(relation).map((field) => [
      field,
      joinColumnValues(field.columns.map((column) => byColumn.get(nameOf(column)))),
    ]),
  )
}

/** Whether a value of a field has the key of the parent in the columns of the foreign key. */
export function hasParentKey(
  relation: NestedList,
  parent: ResourceView,
  key: unknown,
  field: Field,
  value: unknown,
): boolean {
  const byColumn = columnValuesOf(relation, parent, key)
  const values = splitColumnValues(field, value)
  return field.columns.every((column, index) => {
    const name = nameOf(column)
    return !byColumn.has(name) || isSameValue(column.valueType, values[index], byColumn.get(name))
  })
}

/** The key of a new record, as far as the body determines it. @returns undefined if the database generates a part of it */
export function givenKey({ key }: ResourceView, changes: ChangeSet): unknown {
  const given = new Map(
    [...changes].flatMap(([field, value]) => {
      const values = splitColumnValues(field, value)
      return field.columns.map((column, index) => [nameOf(column), values[index]] as const)
    }),
  )
  const values = key.columns.map((column) => given.get(nameOf(column)))
  return values.includes(undefined) ? undefined : joinColumnValues(values)
}

/** Values of the foreign key's columns by their names. */
function columnValuesOf({ foreignKey }: NestedList, parent: ResourceView, key: unknown): ReadonlyMap<string, unknown> {
  const values = splitColumnValues(parent.key, key)
  return new Map(
    foreignKey.columns.map((column) => {
      const index = parent.key.columns.findIndex((own) => nameOf(own) === column.column.referencedColumn?.databaseName)
      return [nameOf(column), values[index]]
    }),
  )
}
