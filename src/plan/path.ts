import { ValueError } from '../errors'
import { limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { type OperatorName, operatorNames } from '../value/kind'
import { requireField } from './require-field'

/** What the name of a filter says: foreign keys to follow, then a field, then how to compare it. */
export interface Path {
  readonly through: readonly Field[]
  readonly field: Field
  readonly operator: OperatorName
}

/**
 * Reads `author__username__like`. A name is a path of fields; its last part is an operator only when it is no field
 * (D15). A hidden field is in no map of this resource, so it is answered as one that does not exist (D13).
 * @throws {ValueError}
 */
export function parsePath(resource: Resource, name: string): Path {
  const [first = '', ...rest] = name.split('__')
  const through: Field[] = []
  let operator: OperatorName = 'eq'
  let at = resource
  let field = findField(at, first, rest.length === 0 ? '' : `starts with ${first}, which `)
  for (const [index, part] of rest.entries()) {
    const related = at.related(field)
    if (index === rest.length - 1 && isOperator(part) && !related?.fields.has(part)) {
      operator = part
      break
    }
    if (related === undefined) throw new ValueError(`goes on with ${part}, which is no operator; ${operatorsOf(field)}`)
    through.push(field)
    at = related
    field = findField(at, part, `goes on with ${part}, which `)
  }
  checkDepth(through)
  checkOperator(field, operator)
  return { through, field, operator }
}

/** @throws {ValueError} that reads on from the name, or from `lead` */
function findField(resource: Resource, name: string, lead: string): Field {
  return requireField(resource, resource.fields, name, lead)
}

function checkDepth(through: readonly Field[]): void {
  if (through.length <= limits.joinDepth) return
  throw new ValueError(`follows ${through.length} foreign keys; at most ${limits.joinDepth} are allowed`)
}

function checkOperator(field: Field, operator: OperatorName): void {
  if (field.kind.operators.includes(operator)) return
  throw new ValueError(`cannot be compared by ${operator}; ${operatorsOf(field)}`)
}

function operatorsOf(field: Field): string {
  return `operators of ${field.name}: ${field.kind.operators.join(', ')}`
}

function isOperator(text: string): text is OperatorName {
  return (operatorNames as readonly string[]).includes(text)
}
