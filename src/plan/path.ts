import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { type OperatorName, operatorNames } from '../value/kind'
import { requireField } from './require-field'

/** What the name of a filter says: relations to follow, then a field, then how to compare it. */
export interface Path {
  readonly through: readonly RelationMetadata[]
  readonly field: Field
  readonly operator: OperatorName
}

/**
 * Reads `author__username__like`. A name is a path of fields; its last part is an operator only when it is no field
 * (D15). A hidden field is in no map of this resource, so it is answered as one that does not exist (D13).
 * @throws {ValueError}
 */
export function parsePath(resource: Resource, name: string, { joinDepth }: Limits): Path {
  const through: RelationMetadata[] = []
  let at = resource
  let [first, parts] = takeName(at, name.split('__'))
  let lead = parts.length === 0 ? '' : `starts with ${first}, which `
  for (;;) {
    const [part = '', ...others] = parts
    const relation = at.fields.get(first)?.relation ?? at.relations.get(first)
    const related = relation && at.related(relation)
    if (parts.length === 0 || (others.length === 0 && isOperator(part) && !isName(related, part))) {
      return finish(at, first, parts.length === 0 ? 'eq' : (part as OperatorName), through, lead)
    }
    if (relation === undefined || related === undefined) {
      const field = requireField(at, at.fields, first, lead)
      throw new ValueError(`goes on with ${part}, which is no operator; ${operatorsOf(field)}`)
    }
    through.push(relation)
    if (through.length > joinDepth) throw new ValueError(`follows too many relations; at most ${joinDepth} are allowed`)
    at = related
    ;[first, parts] = takeName(at, parts)
    lead = `goes on with ${first}, which `
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

function finish(
  resource: Resource,
  name: string,
  operator: OperatorName,
  through: readonly RelationMetadata[],
  lead: string,
): Path {
  const field = requireField(resource, resource.fields, name, lead)
  if (!field.kind.operators.includes(operator)) {
    throw new ValueError(`cannot be compared by ${operator}; ${operatorsOf(field)}`)
  }
  return { through, field, operator }
}

function operatorsOf(field: Field): string {
  return `operators of ${field.name}: ${field.kind.operators.join(', ')}`
}

function isOperator(text: string): text is OperatorName {
  return (operatorNames as readonly string[]).includes(text)
}
