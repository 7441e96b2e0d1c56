import { ValueError } from '../errors'
import { isNamed } from '../schema/property'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import { isNumeric, type ValueType } from '../value/value-type'
import { fieldFunctions } from './field-functions'
import { type JoinLimits, type ParsedPath, parseSuffixedName } from './path'

const dateParts = ['year', 'quarter', 'month', 'week', 'day'] as const

/** Name of a function of the values of a field. */
export type FieldFunction = (typeof fieldFunctions)[number]

/** Period to which dates are truncated. Weeks are those of ISO 8601: they begin on Monday. */
export type DatePart = (typeof dateParts)[number]

/** Name of a function of a field: `task__minutes__sum`. */
export interface FunctionPath extends ParsedPath<FieldFunction> {
  readonly suffix: FieldFunction
}

/** @throws {ValueError} for a name that `aggregate` cannot have, besides `count` */
export function parseFunction(view: FilterNames, name: string, limits: JoinLimits): FunctionPath {
  const path = parseSuffixedName(view, name, limits, fieldFunctions)
  requireAggregable(view, path, name)
  const { suffix, field } = path
  if (suffix === undefined) {
    const names = fieldFunctions.map((one) => `${name}__${one}`).join(', ')
    throw new ValueError(`names "${name}" without a function; functions: count, ${names}`)
  }
  const functions = functionsOf(field.valueType)
  if (!functions.includes(suffix)) {
    const advice = functions.length === 0 ? '' : `; functions of ${field.name}: ${functions.join(', ')}`
    throw new ValueError(`cannot compute the ${suffix} of ${field.name}${advice}`)
  }
  return { ...path, suffix }
}

/** @throws {ValueError} for a name that `by` cannot have */
export function parseKey(view: FilterNames, name: string, limits: JoinLimits): ParsedPath<DatePart> {
  const path = parseSuffixedName(view, name, limits, dateParts)
  requireAggregable(view, path, name)
  const { suffix, field } = path
  const isDate = partsOf(field.valueType).length > 0
  if (suffix !== undefined && !isDate) throw new ValueError(`names "${name}", but ${field.name} is not a date`)
  if (suffix === undefined && !isGroupable(field.valueType)) {
    const advice = isDate ? `; use a date part: ${dateParts.map((part) => `${name}__${part}`).join(', ')}` : ''
    throw new ValueError(`cannot group by ${name}${advice}`)
  }
  return path
}

/** The functions that can be computed of values of a type. */
export function functionsOf(valueType: ValueType): readonly FieldFunction[] {
  const isNumber = isNumeric(valueType)
  const isOrdered = isNumber || ['date', 'date-time', 'time'].includes(valueType.name)
  const accepted = {
    sum: isNumber,
    avg: isNumber,
    min: isOrdered,
    max: isOrdered,
    count_distinct: hasDistinctValues(valueType),
  }
  return fieldFunctions.filter((name) => accepted[name])
}

/** Whether values that differ are shown differently. Date-times and times have fractions of seconds that are not shown. */
function hasDistinctValues({ name, operators, upperBound }: ValueType): boolean {
  return operators.includes('eq') && (upperBound === undefined || name === 'date')
}

/** The date parts of values of a type. */
export function partsOf({ name }: ValueType): readonly DatePart[] {
  return name === 'date' || name === 'date-time' ? dateParts : []
}

/** Whether groups can be identified by whole values. Date-times have fractions of seconds that are not shown. */
export function isGroupable({ name }: ValueType): boolean {
  return ['text', 'enum', 'uuid', 'boolean', 'integer', 'decimal', 'date'].includes(name)
}

/** @throws {ValueError} for a field of which no values can be computed, and for one that the option does not permit */
function requireAggregable(view: FilterNames, path: ParsedPath<string>, name: string): void {
  const { aggregate = 'all' } = view as Partial<ResourceView>
  const { through, field } = path
  const property = through[0]?.relation.propertyPath ?? field.property
  if (aggregate !== 'all' && !isNamed(property, aggregate)) {
    const allowed = view.outputFields.filter((other) => isNamed(other.property, aggregate))
    const names = allowed.map((other) => other.name).join(', ')
    throw new ValueError(`names "${name}", which cannot be aggregated; fields: ${names}`)
  }
  const [column, ...others] = field.columns
  const isStored = column !== undefined && others.length === 0 && !column.column.isVirtualProperty
  const isPlain = column?.valueColumn.transformer === undefined && column?.column.entityMetadata.tableType !== 'view'
  // A load listener may change keys too, so no entity on the path may have one. The first entity is checked at mount.
  const hasListener = through.some((step) => step.target.lifecycle.load)
  if (isStored && isPlain && !hasListener) return
  throw new ValueError(`names "${name}", which cannot be aggregated: its values are computed or transformed`)
}
