import type { DataSource } from 'typeorm'
import { ValueError } from '../errors'
import { type FieldFunction, functionsOf, isGroupable, parseFunction, parseKey, partsOf } from '../query/aggregable'
import { computesDateParts, computesExactly } from '../read/check-aggregates'
import type { Limits } from '../request/limits'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { orNull } from '../value/schema'
import type { JsonSchema } from '../value/value-type'
import { escapeRegex, references } from './references'

/** A name that `aggregate` or `by` can have, and the schema of its values in groups. */
export interface GroupMember {
  readonly name: string
  readonly schema: JsonSchema
}

/** The names that `aggregate` and `by` can have, with the fields of the resource, or with those that relations lead to. */
export interface GroupMembers {
  readonly functions: readonly GroupMember[]
  readonly keys: readonly GroupMember[]
}

const countMember: GroupMember = { name: 'count', schema: { type: 'integer', minimum: 0 } }

/** The members of groups that name a field of the resource. */
export function ownGroupMembers(view: ResourceView, dataSource: DataSource, limits: Limits): GroupMembers {
  const { functions, keys } = membersFrom(view, dataSource, limits, '', view)
  return { functions: [countMember, ...functions], keys }
}

/** Schema of a group: the members that a request names. Fields are described through up to one relation. */
export function groupSchema(view: ResourceView, dataSource: DataSource, limits: Limits): JsonSchema {
  const ofRelations = aggregableReferences(view).flatMap(([name, related]) => {
    const { functions, keys } = membersFrom(view, dataSource, limits, `${name}__`, related)
    return [...functions, ...keys]
  })
  const own = ownGroupMembers(view, dataSource, limits)
  const schemas = new Map<string, JsonSchema>()
  for (const { name, schema } of [...own.functions, ...own.keys, ...ofRelations]) {
    const other = schemas.get(name)
    // A field may have the name of a function.
    schemas.set(name, other === undefined ? schema : { anyOf: [other, schema] })
  }
  const pattern = relatedPattern(view)
  return {
    type: 'object',
    description: 'The members that `aggregate` and `by` name.',
    properties: Object.fromEntries(schemas),
    ...(pattern !== undefined && {
      patternProperties: { [`^${pattern}`]: { type: ['string', 'number', 'boolean', 'null'] } },
    }),
    additionalProperties: false,
    minProperties: 1,
  }
}

/** Start of a regular expression for names of related fields; undefined if relations cannot be followed. */
export function relatedPattern(view: ResourceView): string | undefined {
  const names = aggregableReferences(view).map(([name]) => `${escapeRegex(name)}(_id)?`)
  return names.length === 0 ? undefined : `(${names.join('|')})__.`
}

function aggregableReferences(view: ResourceView): readonly (readonly [name: string, related: ResourceView])[] {
  return references(view).flatMap(([name, relation]) => {
    const related = view.related(relation)
    const isPermitted = view.aggregate === 'all' || view.aggregate.includes(relation.propertyPath)
    return related !== undefined && isPermitted ? [[name, related] as const] : []
  })
}

/** @param prefix path from the view to the owner of the fields, with two underscores at its end */
function membersFrom(
  view: ResourceView,
  dataSource: DataSource,
  limits: Limits,
  prefix: string,
  { fields }: ResourceView,
): GroupMembers {
  const all = [...fields].map(([name, field]) => [`${prefix}${name}`, field] as const)
  return {
    functions: all.flatMap(([path, field]) =>
      functionsOf(field.valueType)
        .filter((one) => computesExactly(dataSource, one, field))
        .map((one) => ({ name: `${path}__${one}`, schema: functionSchema(one, field) }))
        .filter(({ name }) => isParsed(() => parseFunction(view, name, limits))),
    ),
    keys: all.flatMap(([path, field]) =>
      keysOf(path, field, dataSource).filter(({ name }) => isParsed(() => parseKey(view, name, limits))),
    ),
  }
}

function keysOf(path: string, field: Field, dataSource: DataSource): readonly GroupMember[] {
  const { valueType } = field
  const whole = isGroupable(valueType) ? [{ name: path, schema: valueSchema(field) }] : []
  if (partsOf(valueType).length === 0 || !computesDateParts(dataSource, field)) return whole
  const date: JsonSchema = { type: ['string', 'null'], format: 'date' }
  return [...whole, ...partsOf(valueType).map((part) => ({ name: `${path}__${part}`, schema: date }))]
}

/** Schema of a function's values. All but counts are null for a group without values. */
function functionSchema(name: FieldFunction, field: Field): JsonSchema {
  if (name === 'count_distinct') return countMember.schema
  if (name === 'min' || name === 'max') return valueSchema(field)
  if (name === 'avg' || field.valueType.name === 'float') return { type: ['number', 'null'] }
  if (field.valueType.name === 'decimal') return { type: ['string', 'null'], format: 'decimal' }
  // Integers beyond ±(2^53−1) are strings.
  return { type: ['integer', 'string', 'null'], pattern: String.raw`^-?\d+$` }
}

function valueSchema({ valueType }: Field): JsonSchema {
  const { examples, ...schema } = valueType.schema
  return orNull(schema)
}

/** Whether a request can have a name. */
function isParsed(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch (error) {
    if (error instanceof ValueError) return false
    throw error
  }
}
