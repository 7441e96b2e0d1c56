import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import type { FilterNames } from '../schema/resource-view'
import { type OperatorName, operatorNames } from '../value/value-type'
import { requireField } from './require-field'
import { suggestOperator } from './suggestions'

/** Limits of the joins of a query. */
export type JoinLimits = Pick<Limits, 'joinDepth' | 'joins'>

/** Relation to follow, and what it leads to. */
export interface Step {
  readonly relation: RelationMetadata
  readonly target: FilterNames
  /** Whether to join the table of the relation although {@link isToMany} is true: it leads to one record. */
  readonly isSingle?: boolean
}

/** Parsed name of a filter: relations to follow, a field and an operator. */
export interface FilterPath extends FieldPath {
  readonly operator: OperatorName
}

/** Parsed name in an ordering: to-one relations to follow, a field and the position of nulls. */
export interface SortPath extends FieldPath {
  /** Undefined for the default: nulls sort as the lowest values. */
  readonly nulls: 'first' | 'last' | undefined
}

/** Relations to follow, and the field that they lead to. */
export interface FieldPath {
  /** Relations to follow, from the resource of the request. */
  readonly through: readonly Step[]
  /** Resource that the relations lead to. */
  readonly target: FilterNames
  readonly field: Field
}

/**
 * Parses the name of a filter: `author__username__like`.
 * @throws {ValueError}
 */
export function parseFilterName(view: FilterNames, name: string, limits: JoinLimits): FilterPath {
  const { suffix = 'eq', ...path } = parsePath(view, name, limits, '', isOperator, (suffix, field) => {
    const advice = suggestOperator(suffix, field.valueType.operators)
    return `has the unknown operator "${suffix}"; ${advice}${operatorsOf(field)}`
  })
  if (path.field.valueType.operators.includes(suffix)) return { ...path, operator: suffix }
  throw new ValueError(`cannot be compared by ${suffix}; ${operatorsOf(path.field)}`)
}

/**
 * Parses a name in an ordering, without the hyphen of a descending order: `author__username__nullslast`.
 * @throws {ValueError}
 */
export function parseSortName(view: FilterNames, name: string, limits: JoinLimits): SortPath {
  const subject = `names "${name}", which `
  const { suffix, ...path } = parsePath(view, name, limits, subject, isPlacement, unknownPlacement)
  requireToOne(path, subject)
  // Values that cannot be compared cannot be sorted either.
  if (!path.field.valueType.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
  return { ...path, nulls: suffix && placements[suffix] }
}

/**
 * Parses a name with an optional suffix, in which only relations to one record can be followed: `task__project`,
 * `minutes__sum`.
 * @param suffixes the suffixes that can follow a field
 * @throws {ValueError}
 */
export function parseSuffixedName<Suffix extends string>(
  view: FilterNames,
  name: string,
  limits: JoinLimits,
  suffixes: readonly Suffix[],
): ParsedPath<Suffix> {
  const subject = `names "${name}", which `
  const isSuffix = (part: string): part is Suffix => (suffixes as readonly string[]).includes(part)
  const path = parsePath(
    view,
    name,
    limits,
    subject,
    isSuffix,
    (suffix) => `has the unknown suffix "${suffix}"; suffixes: ${suffixes.join(', ')}`,
  )
  requireToOne(path, subject)
  return path
}

/** @throws {ValueError} for a path that follows a to-many relation */
function requireToOne({ through }: FieldPath, subject: string): void {
  const toMany = through.find(({ relation }) => isToMany(relation))
  if (toMany === undefined) return
  throw new ValueError(
    `${subject}leads to several records through ${toMany.relation.propertyPath}; only relations to one record can be followed`,
  )
}

/** Suffixes of a field in an ordering. */
const placements = { nullsfirst: 'first', nullslast: 'last' } as const

function unknownPlacement(suffix: string): string {
  return `has the unknown suffix "${suffix}"; only ${Object.keys(placements).join(' and ')} can follow a field`
}

function isPlacement(text: string): text is keyof typeof placements {
  return Object.hasOwn(placements, text)
}

/** Parsed name: relations to follow, a field and a suffix. */
export interface ParsedPath<Suffix> extends FieldPath {
  readonly suffix: Suffix | undefined
}

/**
 * Parses a path of relations, a field and an optional suffix, separated by `__`. The last part is a suffix only if it
 * is not the name of a field (specification: Names of filters). `view.fields` has no hidden fields, so they are rejected
 * like fields that do not exist (specification: Hidden fields).
 * @param subject text before each error message: empty for a filter, `names "title", which ` for an ordering
 * @param describeUnknown returns the error message for an unknown suffix of a field, without `subject`
 * @throws {ValueError}
 */
function parsePath<Suffix extends string>(
  view: FilterNames,
  name: string,
  { joinDepth }: JoinLimits,
  subject: string,
  isSuffix: (part: string) => part is Suffix,
  describeUnknown: (suffix: string, field: Field) => string,
): ParsedPath<Suffix> {
  const through: Step[] = []
  let current = view
  let [first, parts] = takeName(current, name.split('__'))
  let prefix = parts.length === 0 ? subject : `${subject}starts with ${first}, which `
  for (;;) {
    const [part = '', ...others] = parts
    const relation = current.fields.get(first)?.relation ?? current.relations.get(first)
    const related = relation && current.related(relation)
    if (parts.length === 0) {
      const field = requireField(current, first, prefix)
      return { through, target: current, field, suffix: undefined }
    }
    if (others.length === 0 && isSuffix(part) && !isName(related, part)) {
      const field = requireField(current, first, prefix)
      return { through, target: current, field, suffix: part }
    }
    if (relation === undefined || related === undefined) {
      const field = requireField(current, first, prefix)
      const advice = relation === undefined ? '' : '; only relations to resources can be followed'
      throw new ValueError(`${subject}${describeUnknown(parts.join('__'), field)}${advice}`)
    }
    through.push({ relation, target: related })
    if (through.length > joinDepth) throw new ValueError(`follows too many relations; at most ${joinDepth} are allowed`)
    current = related
    ;[first, parts] = takeName(current, parts)
    prefix = `${subject}contains ${first}, which `
  }
}

/**
 * Takes the first field or relation name from the parts. A field of an embedded entity has several parts:
 * `profile__city`.
 * @returns the name and the remaining parts
 */
function takeName({ embedded }: FilterNames, parts: readonly string[]): [string, readonly string[]] {
  let end = 1
  while (end < parts.length && embedded.has(parts.slice(0, end).join('__'))) end++
  return [parts.slice(0, end).join('__'), parts.slice(end)]
}

/** Whether a part of a path is a field or a relation of the resource. */
function isName(view: FilterNames | undefined, part: string): boolean {
  return view !== undefined && (view.fields.has(part) || view.relations.has(part))
}

function operatorsOf(field: Field): string {
  return `operators of ${field.name}: ${field.valueType.operators.join(', ')}`
}

function isOperator(text: string): text is OperatorName {
  return (operatorNames as readonly string[]).includes(text)
}
