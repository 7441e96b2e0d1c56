import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isToMany } from '../schema/relations'
import { type OperatorName, operatorNames } from '../value/value-type'
import { requireField } from './require-field'

/** What the name of a filter says: relations to follow, then a field, then how to compare it. */
export interface FilterPath extends FieldPath {
  readonly operator: OperatorName
}

/** What a name in an ordering says: to-one relations to follow, a field, and where nulls stand. */
export interface SortPath extends FieldPath {
  /** Undefined for the default: nulls are the least. */
  readonly nulls: 'first' | 'last' | undefined
}

interface FieldPath {
  readonly through: readonly RelationMetadata[]
  /** The resource that the relations lead to. */
  readonly target: Resource
  readonly field: Field
}

/**
 * Reads `author__username__like`.
 * @throws {ValueError}
 */
export function parseFilterName(resource: Resource, name: string, limits: Limits): FilterPath {
  const { suffix = 'eq', ...path } = parsePath(
    resource,
    name,
    limits,
    '',
    isOperator,
    (field) => `which is no operator; ${operatorsOf(field)}`,
  )
  if (path.field.valueType.operators.includes(suffix)) return { ...path, operator: suffix }
  throw new ValueError(`cannot be compared by ${suffix}; ${operatorsOf(path.field)}`)
}

/**
 * Reads `author__username__nullslast`, without the hyphen of a descending order.
 * @throws {ValueError}
 */
export function parseSortName(resource: Resource, name: string, limits: Limits): SortPath {
  const lead = `names "${name}", which `
  const { suffix, ...path } = parsePath(resource, name, limits, lead, isPlacement, () => placementHint)
  const many = path.through.find(isToMany)
  if (many !== undefined)
    throw new ValueError(`${lead}leads to several records by ${many.propertyPath}: there is no order of them`)
  // What cannot be compared has no order either.
  if (!path.field.valueType.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
  return { ...path, nulls: suffix && placements[suffix] }
}

const placements = { nullsfirst: 'first', nullslast: 'last' } as const
const placementHint = `which is no field; only ${Object.keys(placements).join(' and ')} can follow one`

function isPlacement(text: string): text is keyof typeof placements {
  return Object.hasOwn(placements, text)
}

interface ParsedPath<Suffix> extends FieldPath {
  readonly suffix: Suffix | undefined
}

/**
 * Reads a name as a path of fields, whose last part is a suffix only where it is no field (specification: Names of filters). A hidden field is in no map of its
 * resource, so it is answered as one that does not exist (specification: Hidden fields).
 * @param subject begins the sentences of errors
 * @param hint says what may follow a field instead
 * @throws {ValueError}
 */
function parsePath<Suffix extends string>(
  resource: Resource,
  name: string,
  { joinDepth }: Limits,
  subject: string,
  isSuffix: (part: string) => part is Suffix,
  hint: (field: Field) => string,
): ParsedPath<Suffix> {
  const through: RelationMetadata[] = []
  let at = resource
  let [first, parts] = takeName(at, name.split('__'))
  let lead = parts.length === 0 ? subject : `${subject}starts with ${first}, which `
  for (;;) {
    const [part = '', ...others] = parts
    const relation = at.fields.get(first)?.relation ?? at.relations.get(first)
    const related = relation && at.related(relation)
    if (parts.length === 0)
      return { through, target: at, field: requireField(at, at.fields, first, lead), suffix: undefined }
    if (others.length === 0 && isSuffix(part) && !isName(related, part)) {
      return { through, target: at, field: requireField(at, at.fields, first, lead), suffix: part }
    }
    if (relation === undefined || related === undefined) {
      const field = requireField(at, at.fields, first, lead)
      throw new ValueError(`${subject}goes on with ${part}, ${hint(field)}`)
    }
    through.push(relation)
    if (through.length > joinDepth) throw new ValueError(`follows too many relations; at most ${joinDepth} are allowed`)
    at = related
    ;[first, parts] = takeName(at, parts)
    lead = `${subject}goes on with ${first}, which `
  }
}

/** Takes the next name from the parts: with `profile__city` the name of a field in an embedded entity is two of them. */
function takeName({ embedded }: Resource, parts: readonly string[]): [string, readonly string[]] {
  let end = 1
  while (end < parts.length && embedded.has(parts.slice(0, end).join('__'))) end++
  return [parts.slice(0, end).join('__'), parts.slice(end)]
}

function isName(resource: Resource | undefined, part: string): boolean {
  return resource !== undefined && (resource.fields.has(part) || resource.relations.has(part))
}

function operatorsOf(field: Field): string {
  return `operators of ${field.name}: ${field.valueType.operators.join(', ')}`
}

function isOperator(text: string): text is OperatorName {
  return (operatorNames as readonly string[]).includes(text)
}
