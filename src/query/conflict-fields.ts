import { type FieldErrors, ValueError } from '../errors'
import type { Body } from '../request/body'
import type { Field } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import { isSameColumn } from '../schema/property'
import type { ResourceView } from '../schema/resource-view'
import { resolution } from '../value/date-time'
import { parseGivenValues } from './change-set'
import type { Presets } from './presets'
import { type Comparison, type Query, rootAlias, whereVisible } from './query'

/** The fields of a unique constraint, in its order. */
export type ConflictFields = readonly Field[]

/**
 * The fields by which a POST can find the record to update (specification: Upserts): those of the key and of each unique
 * constraint and unique index of the entity. Constraints are left out if they have a hidden column, or one whose value a
 * new record cannot be given.
 * @param presets values that the application sets in new records. Default: none
 */
export function conflictFieldsOf(view: ResourceView, presets?: Presets): readonly ConflictFields[] {
  const { uniques, indices, primaryColumns } = view.metadata
  const constraints = [...uniques, ...indices.filter(({ isUnique }) => isUnique)].map(({ columns }) => columns)
  const isGiven = (field: Field): boolean =>
    field.insertable || field === view.owner || presets?.values.has(field) === true
  const byNames = new Map<string, ConflictFields>()
  for (const columns of [primaryColumns, ...constraints]) {
    const fields = fieldsOf(view, columns)
    if (fields?.every((field) => isGiven(field) && field.valueType.operators.includes('eq'))) {
      byNames.set(nameOf(namesOf(fields)), fields)
    }
  }
  return [...byNames].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, fields]) => fields)
}

/** The names of fields, as `on_conflict` has them. */
export const namesOf = (fields: ConflictFields): readonly string[] => fields.map(({ name }) => name)

/** Identifies a set of fields, whatever their order is. */
const nameOf = (names: readonly string[]): string => names.toSorted().join()

/**
 * The fields of records that consist of these columns. A field of several columns is left out if its columns are fields
 * too, and so is the member `id` if it repeats the key.
 * @returns undefined if one of the columns is in no field, or only in one that has other columns too
 */
export function fieldsOf(
  { outputFields, key }: ResourceView,
  columns: readonly ColumnMetadata[],
): ConflictFields | undefined {
  const isListed = (column: ColumnMetadata): boolean => columns.some((listed) => isSameColumn(listed, column))
  const candidates = outputFields
    .filter((field) => field.columns.every(({ column }) => isListed(column)))
    .toSorted((one, other) => one.columns.length - other.columns.length || Number(one === key) - Number(other === key))
  const found = new Set<Field>()
  const hasColumn = (column: ColumnMetadata): boolean =>
    [...found].some((field) => field.columns.some((stored) => isSameColumn(stored.column, column)))
  for (const field of candidates) if (!field.columns.every(({ column }) => hasColumn(column))) found.add(field)
  if (columns.length === 0 || !columns.every(hasColumn)) return undefined
  const positionOf = ({ columns: [first] }: Field): number =>
    columns.findIndex((column) => isSameColumn(column, first?.column))
  return [...found].toSorted((one, other) => positionOf(one) - positionOf(other))
}

/**
 * Resolves the names in `on_conflict`.
 * @throws {ValueError} that lists the possible ones
 */
export function parseConflictFields(view: ResourceView, names: readonly string[], presets: Presets): ConflictFields {
  const possible = conflictFieldsOf(view, presets)
  const fields = possible.find((one) => nameOf(namesOf(one)) === nameOf(names))
  if (fields !== undefined) return fields
  const lists = possible.map((one) => namesOf(one).join())
  if (lists.length === 0) throw new ValueError(`cannot be used, because ${view.name} has no unique constraint for it`)
  throw new ValueError(`must be the fields of a unique constraint: ${lists.join(' or ')}`)
}

/**
 * The values that a new record with this body would have in the fields of a unique constraint.
 * @param owner key of the user who would own the record
 * @param errors receives an error for each field without a value
 * @returns undefined if a field has no value, or one that is not valid, which is not reported here
 */
export function conflictValues(
  view: ResourceView,
  body: Body,
  fields: ConflictFields,
  { owner, presets }: { readonly owner: unknown; readonly presets: Presets },
  errors: FieldErrors,
): readonly unknown[] | undefined {
  const given = parseGivenValues(view, body, fields)
  const values = fields.map((field) => {
    if (field === view.owner) return owner
    const { name, required, nullable } = field
    const isPreset = presets.overriding.has(field) || (presets.values.has(field) && !given.has(field))
    const value = isPreset ? presets.values.get(field) : given.get(field)
    // `parseInsert` reports required fields, unless a listener may set them.
    const isOptional = !required || view.lifecycle.beforeInsert
    if (!isPreset && !given.has(field) && isOptional) errors.add(name, 'is required, because on_conflict names it')
    if (value === null && nullable) errors.add(name, 'must not be null, because on_conflict names it')
    const isStoredAsNull =
      value !== null && value !== undefined && field.valueType.nulls?.isStoredAsNull(value) === true
    if (isStoredAsNull) errors.add(name, 'must not be stored as null, because on_conflict names it')
    return isStoredAsNull ? undefined : (value ?? undefined)
  })
  return values.includes(undefined) ? undefined : values
}

/** Query for the keys of the records that have the values of a new record. */
export interface ConflictQuery extends Query {
  /** Identifies the fields and operators of the condition. */
  readonly cacheKey: string
}

/** Query for the keys of the visible records that have the values which the database stores for these values. */
export function conflictQuery(
  view: ResourceView,
  fields: ConflictFields,
  conflicting: readonly unknown[],
): ConflictQuery {
  const conditions: Comparison[] = []
  const values: unknown[][] = []
  const compare = (field: Field, operator: Comparison['operator'], value: unknown): void => {
    const on = { alias: rootAlias, field }
    const asStored = operator === 'eq' && ({ asStored: true } as const)
    conditions.push({ type: 'compare', on, operator, valuesIndex: values.length, ...asStored })
    values.push([value])
  }
  fields.forEach((field, index) => {
    const value = conflicting[index]
    if (isWholeSecond(field, value)) {
      // A filter would find all records of this second, but the constraint compares the fractions too.
      compare(field, 'gte', value)
      compare(field, 'lt', new Date(value.getTime() + 1))
    } else compare(field, 'eq', value)
  })
  const where = whereVisible(view, { type: 'and', conditions })
  const cacheKey = conditions.map(({ on, operator }) => `${on.field.name}__${operator}`).join()
  return { view, joins: [], where, values, select: 'key', ordering: [], included: [], cursor: undefined, cacheKey }
}

/** Whether a value is a date-time without a fraction, in a column that stores fractions. */
function isWholeSecond({ columns }: Field, value: unknown): value is Date {
  const isTransformed = columns.some(({ valueColumn }) => valueColumn.transformer !== undefined)
  return value instanceof Date && resolution(value) > 1 && !isTransformed
}
