import type { FieldErrors } from '../errors'
import type { OptionalName } from '../schema/list-parameters'
import type { Filter } from './groups'
import type { Limits } from './limits'

/** Groups of a list request. Names of fields are not resolved yet. */
export interface Aggregation {
  /** Functions to compute for each group, as `count` and `minutes__sum`. */
  readonly functions: readonly string[]
  /** Fields whose values identify a group, maybe with a date part: `task__project`, `day__week`. */
  readonly by: readonly string[]
  /** Filters on groups, as `minutes__sum__gte`. */
  readonly having: readonly Filter[]
}

/**
 * Parses the parameters `aggregate` and `by`.
 * @param errors receives what exceeds a limit or is given twice
 * @returns undefined for a list of records
 */
export function parseAggregation(
  aggregate: string | undefined,
  by: string | undefined,
  { aggregates, groupFields }: Limits,
  errors: FieldErrors,
): Aggregation | undefined {
  if (aggregate === undefined) {
    if (by !== undefined) errors.add('by', 'needs the parameter aggregate, such as aggregate=count')
    return undefined
  }
  const functions = parseNames('aggregate', aggregate, aggregates, errors)
  const fields = by === undefined ? [] : parseNames('by', by, groupFields, errors)
  for (const name of fields)
    if (functions.includes(name)) errors.add('by', `names "${name}", which aggregate names too`)
  return { functions, by: fields, having: [] }
}

/**
 * Whether a parameter filters groups: a requested function with or without an operator. `count` has an operator, because
 * alone it is a parameter of lists, and is the name of a filter if a field has this name.
 */
export function isHavingName({ functions }: Aggregation, name: string, optional: ReadonlySet<OptionalName>): boolean {
  return functions.some((requested) => {
    if (requested === 'count') return optional.has('count') && name.startsWith('count__')
    return name === requested || name.startsWith(`${requested}__`)
  })
}

function parseNames(parameter: string, text: string, max: number, errors: FieldErrors): readonly string[] {
  const names = text.split(',')
  const repeated = names.find((name, index) => names.indexOf(name) < index)
  if (names.length > max) errors.add(parameter, `may have at most ${max} names, this has ${names.length}`)
  else if (names.includes('')) errors.add(parameter, 'has an empty name')
  else if (repeated !== undefined) errors.add(parameter, `names "${repeated}" twice`)
  else return names
  return []
}
