import { isDeepStrictEqual } from 'node:util'
import type { ObjectLiteral } from 'typeorm'
import type { ChangeSet } from '../query/query'
import { newEntity } from '../read/entity'
import { splitColumnValues } from '../read/row'
import type { Field } from '../schema/field'
import { type ColumnMetadata, entityValue } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { Change } from './change'

/** The foreign keys of a change to look up, with the values of their columns, none of which is null. */
export function changedReferences(
  view: ResourceView,
  change: Change,
  matches: (field: Field) => boolean,
): readonly (readonly [field: Field, key: readonly unknown[]])[] {
  const candidates = view.references.filter(matches)
  if (candidates.length === 0) return []
  const values = writtenValues(change.values)
  const incomplete = incompleteReferences(view, change, matches)
  const entity = incomplete.length === 0 ? {} : newEntity(view, change.values)
  return candidates.flatMap((field) => {
    // The body does not set the owner and presets, so errors must not name them.
    if (field.relation === undefined || field === view.owner || isPreset(field, change)) return []
    if (!field.columns.some((column) => values.has(column))) return []
    const key = field.columns.map((column) => {
      if (values.has(column)) return values.get(column)
      if (incomplete.includes(field)) return declaredDefault(view, column, entity)
      return change.stored?.[view.entityColumns.indexOf(column)] ?? null
    })
    return key.includes(null) ? [] : [[field, key] as const]
  })
}

/**
 * The foreign keys of a new record that can be checked only when it is written: the request has set some of their columns,
 * and the database, the class or a listener may fill in the others.
 */
export function incompleteReferences(
  view: ResourceView,
  change: Change,
  matches: (field: Field) => boolean,
): readonly Field[] {
  const { action, values: changes, stored } = change
  if (action !== 'create' || stored !== undefined) return []
  const isCandidate = (field: Field): boolean =>
    field.columns.length > 1 && field !== view.owner && matches(field) && !isPreset(field, change)
  const candidates = view.references.filter(isCandidate)
  if (candidates.length === 0) return []
  const values = writtenValues(changes)
  const requested = writtenValues(
    new Map([...changes].filter(([field]) => field !== view.owner && !isPreset(field, change))),
  )
  const partlyWritten = candidates.filter(
    ({ columns }) => columns.some((column) => requested.has(column)) && !columns.every((column) => values.has(column)),
  )
  if (partlyWritten.length === 0) return []
  const entity = newEntity(view, changes)
  const mayHaveValue = (stored: StoredColumn): boolean =>
    values.has(stored) ? values.get(stored) !== null : mayBeFilled(view, stored.column, entity)
  return partlyWritten.filter(({ columns }) => columns.every(mayHaveValue))
}

/** Whether a column that a request does not set may have a value in a new record. @param entity the new record */
function mayBeFilled({ lifecycle }: ResourceView, column: ColumnMetadata, entity: ObjectLiteral): boolean {
  const { isNullable, isGenerated, asExpression, default: defaultValue } = column
  if (!isNullable || isGenerated || asExpression !== undefined || lifecycle.write) return true
  return (defaultValue ?? entityValue(column, entity) ?? null) !== null
}

/**
 * The value that a column gets in a new record that does not set it, if the entity declares a constant; null otherwise. It is
 * used for a check before the write: among several records, the database would reject only those that refer to no record,
 * and so reveal which ones exist.
 * @param entity the new record
 */
function declaredDefault(
  { lifecycle }: ResourceView,
  { column, valueColumn, valueType }: StoredColumn,
  entity: ObjectLiteral,
): unknown {
  // Listeners may set another value.
  if (lifecycle.write) return null
  const initial: unknown = entityValue(column, entity)
  if (initial !== undefined) return initial
  const value: unknown = column.default
  const isInteger = valueType.name === 'integer' && Number.isSafeInteger(value)
  const isText = valueType.name === 'text' && typeof value === 'string'
  return (isInteger || isText) && valueColumn.transformer === undefined ? value : null
}

/** Whether a field has the value that the application has set. A body may contain the same value. */
function isPreset(field: Field, { values, presets }: Change): boolean {
  return presets?.has(field) === true && isDeepStrictEqual(values.get(field), presets.get(field))
}

/** The values of the columns that a change writes. */
export function writtenValues(changes: ChangeSet): ReadonlyMap<StoredColumn, unknown> {
  return new Map(
    [...changes].flatMap(([field, value]) => {
      const values = splitColumnValues(field, value)
      return field.columns.map((column, index) => [column, values[index]] as const)
    }),
  )
}
