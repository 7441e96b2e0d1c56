import { maxNestedLevels } from '../query/nested-body'
import type { Limits } from '../request/limits'
import { nextName, totalName } from '../schema/nested-relations'
import type { NestedLinks, NestedList, ResourceView, WriteAction } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { fieldsOfParentKey } from '../write/nested/parent-key'
import { createMembers, updateMembers } from './body-members'
import type { DescribedResource } from './described-resource'
import { writtenSchema } from './field-schema'
import { closedObject, type Member } from './object'

/** What the schemas of related records in bodies depend on. */
export interface NestedContext {
  readonly limits: Pick<Limits, 'nested'>
  /** The writes that the reader of the document may do, by resource. */
  readonly writesOf: (view: ResourceView) => DescribedResource['writes']
}

type BodyAction = Exclude<WriteAction, 'delete'>

/** The members of a body that contain related records (specification: Nested writes). */
export function nestedMembers(
  view: ResourceView,
  action: BodyAction,
  context: NestedContext,
  level = 0,
): readonly Member[] {
  return [...view.nested().values()].flatMap((relation): readonly Member[] => {
    if (relation.type === 'links') return [linksMember(relation, action, context)]
    return level === maxNestedLevels ? [] : listMembers(relation, action, context, level + 1)
  })
}

function linksMember({ name, relation, target }: NestedLinks, action: BodyAction, { limits }: NestedContext): Member {
  const others = action === 'create' ? '' : ' Other records are no longer related.'
  return member(name, {
    type: 'array',
    items: writtenSchema(target.key.valueType),
    maxItems: limits.nested,
    description: `The ids of the related ${target.name} records.${others}`,
    writeOnly: true,
    'x-resource': target.name,
    'x-relation': relation.propertyPath,
  })
}

/** A list of related records, and what `include` adds next to it, which is ignored. */
function listMembers(
  relation: NestedList,
  action: BodyAction,
  context: NestedContext,
  level: number,
): readonly Member[] {
  const { name, target } = relation
  const writes = context.writesOf(target)
  const schemas = [
    ...(writes.has('create') ? [createdSchema(relation, context, level)] : []),
    ...(writes.has('update') && action === 'update' ? [updatedSchema(target, context, level)] : []),
  ]
  const [first, ...others] = schemas
  if (first === undefined) return []
  const rule = 'Records with an id are changed, others are created. PUT deletes those that are missing, PATCH does not.'
  return [
    member(name, {
      type: 'array',
      items: others.length === 0 ? first : { anyOf: schemas },
      maxItems: context.limits.nested,
      description: `Related ${target.name} records.${action === 'create' ? '' : ` ${rule}`}`,
      writeOnly: true,
      'x-parent-key': fieldsOfParentKey(relation).map((field) => field.name),
    }),
    member(nextName(name), { type: 'string', writeOnly: true, description: `Must be empty in a PUT with ${name}.` }),
    member(totalName(name), { type: 'integer', writeOnly: true, description: 'Is ignored.' }),
  ]
}

/** Schema of a new related record. The service sets the foreign key to its parent. */
function createdSchema(relation: NestedList, context: NestedContext, level: number): JsonSchema {
  const { target } = relation
  const ofParent = new Set(fieldsOfParentKey(relation).map(({ name }) => name))
  const fields = createMembers(target).map((one) =>
    ofParent.has(one.path.join('__')) ? { ...one, required: false } : one,
  )
  return closedObject([...fields, ...nestedMembers(target, 'create', context, level)])
}

function updatedSchema(target: ResourceView, context: NestedContext, level: number): JsonSchema {
  const fields = updateMembers(target).map((one) =>
    one.path.join('__') === target.key.name ? { ...one, required: true } : one,
  )
  return closedObject([...fields, ...nestedMembers(target, 'update', context, level)])
}

function member(name: string, schema: JsonSchema): Member {
  return { path: [name], required: false, schema }
}
