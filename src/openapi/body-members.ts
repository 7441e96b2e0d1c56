import { declaredLimits, narrowed } from '../schema/declared-limits'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { Json, JsonSchema } from '../value/value-type'
import { defaultOf } from './default-value'
import { describe, readOnly, writtenSchema } from './field-schema'
import type { Member } from './object'

/** The fields in the body of a POST, also hidden fields that can be written (specification: Hidden fields). */
export function createMembers(view: ResourceView): readonly Member[] {
  const { owner, outputFields } = view
  const isShown = (field: Field): boolean => outputFields.includes(field)
  // The owner is always set to the principal: a hidden one is left out.
  const members = declaredFields(view).filter((field) => field.insertable && (field !== owner || isShown(field)))
  return members.map((field) => ({
    path: field.path,
    required: field.required && field !== owner && !mayBeSet(view, field),
    schema: inputSchema(view, field, field !== owner, defaultOf(field)),
  }))
}

/**
 * Whether the service may set a hidden foreign key in new records, such as the tenant (specification: Presets). The functions of
 * the options decide it, but cannot be called without a principal.
 */
function mayBeSet({ outputFields, rowScope, may, preset }: ResourceView, field: Field): boolean {
  if (field.relation === undefined || outputFields.includes(field)) return false
  return rowScope?.type === 'filter' || may.create !== undefined || preset !== undefined
}

/**
 * The fields in the body of a PUT: those that can be changed, and shown read-only fields, which may be sent back as they were
 * read (specification: Sending back what was read).
 */
export function updateMembers(view: ResourceView): readonly Member[] {
  const { owner, outputFields } = view
  const canChange = (field: Field): boolean => field.updatable && field !== owner
  const members = declaredFields(view).filter((field) => canChange(field) || outputFields.includes(field))
  return members.map((field) => ({
    path: field.path,
    required: false,
    schema: inputSchema(view, field, canChange(field)),
  }))
}

/** The writable fields in the order in which the entity declares them: a form has the password after the user name. */
function declaredFields({ writableFields, metadata }: ResourceView): readonly Field[] {
  const positionOf = ({ columns: [first] }: Field): number => (first ? metadata.columns.indexOf(first.column) : -1)
  return [...writableFields.values()].toSorted((one, other) => positionOf(one) - positionOf(other))
}

function inputSchema(view: ResourceView, field: Field, canChange: boolean, defaultValue?: Json): JsonSchema {
  const limits = declaredLimits(view.metadata, field)
  const schema = describe(view, field, narrowed(writtenSchema(field.valueType), limits), field.nullable, limits)
  const isHidden = !view.outputFields.includes(field)
  return {
    ...(canChange ? schema : readOnly(schema)),
    ...(isHidden && { writeOnly: true }),
    ...(field.password && { format: 'password' }),
    // Defaults of hidden fields are not revealed: most records still have them.
    ...(defaultValue !== undefined && !isHidden && { default: defaultValue }),
  }
}
