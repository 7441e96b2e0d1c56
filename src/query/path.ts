import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isToMany } from '../schema/relations'
import { type OperatorName, operatorNames } from '../value/value-type'
import { requireField } from './require-field'

/** Parsed name of a filter: relations to follow, a field and an operator. */
export interface FilterPath extends FieldPath {
  readonly operator: OperatorName
}

/** Parsed name in an ordering: to-one relations to follow, a field and the position of nulls. */
export interface SortPath extends FieldPath {
  /** Undefined for the default: nulls sort as the lowest values. */
  readonly nulls: 'first' | 'last' | undefined
}

interface FieldPath {
  /** Relations to follow, from the resource of the request. */
  readonly through: readonly RelationMetadata[]
  /** Resource that the relations lead to. */
  readonly target: Resource
  readonly field: Field
}

/**
 * Parses the name of a filter: `author__username__like`.
 * @throws {ValueError}
 */
export function parseFilterName(resource: Resource, name: string, limits: Limits): FilterPath {
  const { suffix = 'eq', ...path } = parsePath(
    resource,
    name,
    limits,
    '',
    isOperator,
    (suffix, field) => `has the unknown operator "${suffix}"; ${operatorsOf(field)}`,
  )
  if (path.field.valueType.operators.includes(suffix)) return { ...path, operator: suffix }
  throw new ValueError(`cannot be compared by ${suffix}; ${operatorsOf(path.field)}`)
}

/**
 * Parses a name in an ordering, without the hyphen of a descending order: `author__username__nullslast`.
 * @throws {ValueError}
 */
export function parseSortName(resource: Resource, name: string, limits: Limits): SortPath {
  const prefix = `names "${name}", which `
  const { suffix, ...path } = parsePath(resource, name, limits, prefix, isPlacement, unknownPlacement)
  const toMany = path.through.find(isToMany)
  if (toMany !== undefined) {
    throw new ValueError(
      `${prefix}leads to several records through ${toMany.propertyPath}; only relations to one record can be followed`,
    )
  }
  // Values that cannot be compared cannot be sorted either.
  if (!path.field.valueType.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
  return { ...path, nulls: suffix && placements[suffix] }
}

/** Suffixes of a field in an ordering. */
const placements = { nullsfirst: 'first', nullslast: 'last' } as const

function unknownPlacement(suffix: string): string {
  return `has the unknown suffix "${suffix}"; only ${Object.keys(placements).join(' and ')} can follow a field`
}

function isPlacement(text: string): text is keyof typeof placements {
  return Object.hasOwn(placements, text)
}

interface ParsedPath<Suffix> extends FieldPath {
  readonly suffix: Suffix | undefined
}

/**
 * Parses a path of relations, a field and an optional suffix, separated by `__`. The last part is a suffix only if it
 * is not the name of a field (specification: Names of filters). `resource.fields` has no hidden fields, so that these
 * are rejected like fields that do not exist (specification: Hidden fields).
 * @param subject text before each error message: empty for a filter, `names "title", which ` for an ordering
 * @param describeUnknown returns the error message for an unknown suffix of a field, without `subject`
 * @throws {ValueError}
 */
function parsePath<Suffix extends string>(
  resource: Resource,
  name: string,
  { joinDepth }: Limits,
  subject: string,
  isSuffix: (part: string) => part is Suffix,
  describeUnknown: (suffix: string, field: Field) => string,
): ParsedPath<Suffix> {
  const through: RelationMetadata[] = []
  let current = resource
  let [first, parts] = takeName(current, name.split('__'))
  let prefix = parts.length === 0 ? subject : `${subject}starts with ${first}, which `
  for (;;) {
    const [part = '', ...others] = parts
    const relation = current.fields.get(first)?.relation ?? current.relations.get(first)
    const related = relation && current.related(relation)
    if (parts.length === 0) {
      const field = requireField(current, current.fields, first, prefix)
      return { through, target: current, field, suffix: undefined }
    }
    if (others.length === 0 && isSuffix(part) && !isName(related, part)) {
      const field = requireField(current, current.fields, first, prefix)
      return { through, target: current, field, suffix: part }
    }
    if (relation === undefined || related === undefined) {
      const field = requireField(current, current.fields, first, prefix)
      throw new ValueError(subject + describeUnknown(parts.join('__'), field))
    }
    through.push(relation)
    if (through.length > joinDepth) throw new ValueError(`follows too many relations; at most ${joinDepth} are allowed`)
    current = related
    ;[first, parts] = takeName(current, parts)
    prefix = `${subject}goes on with ${first}, which `
  }
}

/**
 * Takes the first field or relation name from the parts. A field of an embedded entity has several parts:
 * `profile__city`.
 * @returns the name and the remaining parts
 */
function takeName({ embedded }: Resource, parts: readonly string[]): [string, readonly string[]] {
  let end = 1
  while (end < parts.length && embedded.has(parts.slice(0, end).join('__'))) end++
  return [parts.slice(0, end).join('__'), parts.slice(end)]
}

/** Whether a part of a path is a field or a relation of the resource. */
function isName(resource: Resource | undefined, part: string): boolean {
  return resource !== undefined && (resource.fields.has(part) || resource.relations.has(part))
}

function operatorsOf(field: Field): string {
  return `operators of ${field.name}: ${field.valueType.operators.join(', ')}`
}

function isOperator(text: string): text is OperatorName {
  return (operatorNames as readonly string[]).includes(text)
}
