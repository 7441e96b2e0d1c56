import type { DataSource } from 'typeorm'
import { jsonOfId } from '../../access/rule'
import { createMembers, updateMembers } from '../../openapi/body-members'
import { describe } from '../../openapi/field-schema'
import { ownGroupMembers } from '../../openapi/group-schema'
import { nestedMembers } from '../../openapi/nested-members'
import type { Member } from '../../openapi/object'
import { includedRelations, references } from '../../openapi/references'
import { leadsToOne } from '../../query/build-inclusion'
import { mayBeNull } from '../../read/row'
import type { Limits } from '../../request/limits'
import type { Field } from '../../schema/field'
import type { ResourceView } from '../../schema/resource-view'
import type { JsonSchema } from '../../value/value-type'
import { tools } from './tools'
import type { Usable, UsableResource } from './usable'

/** The resources that the sender of a request may use, each with its tools. */
export function describeAll({ user, resources }: Usable): unknown {
  return {
    user: jsonOfId(user),
    resources: [...resources.values()].map((resource) => ({
      name: resource.view.name,
      description: resource.view.description,
      tools: toolsOf(resource),
    })),
  }
}

function toolsOf(resource: UsableResource): readonly string[] {
  return tools.filter(({ method, isUsable }) => method !== undefined && isUsable(resource)).map(({ name }) => name)
}

/** The fields, filters and relations of one resource, as the OpenAPI document of the same principal has them, but shorter. */
export function describeOne(resource: UsableResource, usable: Usable, dataSource: DataSource, limits: Limits): unknown {
  const { view, reads } = resource
  const { name, description, owner, ownerOf, outputFields, optionalParameters } = view
  return {
    name,
    description,
    tools: toolsOf(resource),
    fields: fieldsOf(resource, usable, limits),
    ...(owner !== undefined &&
      ownerOf === undefined &&
      outputFields.includes(owner) && { owner: `Records belong to the user in "${owner.name}".` }),
    ...(reads && {
      relations: relationsOf(view, usable),
      search: view.searchFields().map(({ through, field }) => [...through.map(stepName), field.name].join('__')),
      ...(optionalParameters.has('aggregate') && aggregateOf(view, dataSource, limits)),
      limit: limits.page.max,
    }),
  }
}

const stepName = ({ relation }: { readonly relation: { readonly propertyName: string } }): string =>
  relation.propertyName

function aggregateOf(view: ResourceView, dataSource: DataSource, limits: Limits): object {
  const { functions, keys } = ownGroupMembers(view, dataSource, limits)
  return { aggregate: grouped(functions.map(({ name }) => name)), by: keys.map(({ name }) => name) }
}

/** Names of functions, grouped by field to keep the text short: `minutes__sum|avg`. */
function grouped(names: readonly string[]): readonly string[] {
  const byField = new Map<string, string[]>()
  for (const name of names) {
    const [, field = '', one = name] = /^(.+__)(\w+?)$/.exec(name) ?? []
    byField.set(field, [...(byField.get(field) ?? []), one])
  }
  return [...byField].map(([field, functions]) => `${field}${functions.join('|')}`)
}

/** Fields by their name in filters, with what may be done with each. Related records in bodies follow. */
function fieldsOf({ view, writes, reads }: UsableResource, { resources }: Usable, limits: Limits): object {
  const nested = view.nested()
  const relatedIn = (action: 'create' | 'update'): readonly Member[] => {
    const writesOf = ({ name }: ResourceView) => resources.get(name)?.writes ?? new Set<never>()
    // `include` adds further members next to a list, which are ignored.
    return nestedMembers(view, action, { limits, writesOf }).filter(({ path: [name = ''] }) => nested.has(name))
  }
  const created = byName(writes.has('create') ? [...createMembers(view), ...relatedIn('create')] : [])
  const updated = byName(writes.has('update') ? [...updateMembers(view), ...relatedIn('update')] : [])
  const described = new Map<string, object>()
  for (const field of reads ? view.outputFields : []) described.set(field.name, shownField(view, field))
  for (const [name, { path, schema }] of [...created, ...updated]) {
    if (described.has(name) || schema['readOnly'] === true) continue
    // The members of related records are those of their resource.
    const { items, ...rest } = short(schema)
    const target = nested.get(name)?.target
    described.set(name, { ...rest, ...pathOf(path), ...(target && { resource: target.name }) })
  }
  return Object.fromEntries(
    [...described].map(([name, schema]) => {
      const [create, update] = [created.get(name), updated.get(name)].map((member) =>
        member?.schema['readOnly'] === true ? undefined : member,
      )
      return [
        name,
        {
          ...schema,
          ...(create && { create: create.required ? 'required' : 'optional' }),
          ...(update && { update: 'optional' }),
        },
      ]
    }),
  )
}

function shownField(view: ResourceView, field: Field): object {
  const { valueType, columns, path } = field
  const schema = describe(view, field, valueType.schema, columns.some(mayBeNull))
  const isExplained = 'format' in schema || 'pattern' in schema || columns.some(({ column }) => column.comment)
  const { description, ...rest } = short(schema)
  return {
    ...rest,
    // Of other types, the description repeats the schema.
    ...(isExplained && { description }),
    ...pathOf(path),
    operators: valueType.operators.join(','),
  }
}

/** Where a field of an embedded entity is in a record. */
function pathOf(path: readonly string[]): object {
  return path.length > 1 ? { path: path.join('.') } : {}
}

/**
 * The schema without members that a model does not need. The range of integers is that of the column type, and is in the
 * message of a refusal.
 */
function short({
  examples,
  minimum,
  maximum,
  'x-resource': resource,
  'x-relation': relation,
  'x-parent-key': parentKey,
  ...schema
}: JsonSchema): JsonSchema {
  return { ...schema, ...(resource !== undefined && { resource }) }
}

function byName(members: readonly Member[]): Map<string, Member> {
  return new Map(members.map((member) => [member.path.join('__'), member]))
}

/** The relations that filters may follow, by the start of their names, to the resources that can be read. */
function relationsOf(view: ResourceView, { resources }: Usable): object {
  const included = includedRelations(view)
  return Object.fromEntries(
    [...references(view), ...view.relations].flatMap(([name, relation]) => {
      const target = view.related(relation)
      if (target === undefined || resources.get(target.name)?.reads !== true) return []
      const many = !leadsToOne(relation)
      return [[name, { resource: target.name, many, filter: `${name}__<field>`, include: included.has(name) }]]
    }),
  )
}
