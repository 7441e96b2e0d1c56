import type { DataSource } from 'typeorm'
import { isFreeName, leadsToOne } from '../query/build-inclusion'
import { filterOnParent } from '../query/parent-filter'
import type { Limits } from '../request/limits'
import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { groupSchema } from './group-schema'
import { type Member, objectSchema } from './object'
import { includedRelations } from './references'
import {
  groupsOf,
  includedOf,
  listOf,
  metaOf,
  type SchemaName,
  schemaRef,
  selectedListOf,
  selectedOf,
} from './schema-names'

/** Schemas of the pages of a list: of whole records, of records with selected fields, and of groups. */
export function pageSchemas(
  view: ResourceView,
  dataSource: DataSource,
  limits: Limits,
): readonly (readonly [SchemaName, JsonSchema])[] {
  const { name, optionalParameters } = view
  const pages: [SchemaName, JsonSchema][] = [[listOf(name), pageSchema(name, schemaRef(name))]]
  if (optionalParameters.has('fields')) {
    pages.push([selectedListOf(name), pageSchema(name, schemaRef(selectedOf(name)))])
  }
  if (optionalParameters.has('aggregate')) {
    pages.push([groupsOf(name), pageSchema(name, groupSchema(view, dataSource, limits))])
  }
  return [...pages, [metaOf(name), metaSchema(view)]]
}

/** Schema of the response to a list request. */
export function listResponseSchema({ name, optionalParameters }: ResourceView): JsonSchema {
  return anyOf([
    schemaRef(listOf(name)),
    ...(optionalParameters.has('fields') ? [schemaRef(selectedListOf(name))] : []),
    ...(optionalParameters.has('aggregate') ? [schemaRef(groupsOf(name))] : []),
  ])
}

/** Schema of a record in the response to a request that may select fields. */
export function selectableRecord(view: ResourceView): JsonSchema {
  return anyOf(selectableRecords(view))
}

function selectableRecords({ name, optionalParameters }: ResourceView): readonly JsonSchema[] {
  return [schemaRef(name), ...(optionalParameters.has('fields') ? [schemaRef(selectedOf(name))] : [])]
}

/** Schema of a list's envelope (specification: Collection envelope). */
function pageSchema(name: string, items: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: { meta: schemaRef(metaOf(name)), objects: { type: 'array', items } },
    required: ['meta', 'objects'],
  }
}

/** Schema of the member `meta` of a page (specification: Counts). */
function metaSchema({ name, optionalParameters }: ResourceView): JsonSchema {
  const link = 'Path of that page; empty if there is none.'
  const meta = {
    model: { type: 'string', const: name },
    page: { type: 'integer', minimum: 1 },
    next: { type: 'string', description: link },
    previous: { type: 'string', description: link },
  }
  const totals = {
    total: { type: 'integer', minimum: 0, description: 'Number of records on all pages; only with `count`.' },
    total_capped: {
      type: 'boolean',
      description: 'Whether there are more records than `total`; only with `count=capped`.',
    },
  }
  return {
    type: 'object',
    properties: { ...meta, ...(optionalParameters.has('count') && totals) },
    required: Object.keys(meta),
  }
}

/**
 * Schema of the members that `include` adds to records: related records, and for several of them the path of those that
 * follow and their number.
 */
export function includedSchemas(view: ResourceView): readonly (readonly [SchemaName, JsonSchema])[] {
  const relations = [...includedRelations(view)]
  if (relations.length === 0) return []
  const members = relations.flatMap(([name, { relation, target, path }]): readonly Member[] => {
    const records = selectableRecords(target)
    if (leadsToOne(relation)) return [optional(path, anyOf([...records, { type: 'null' }]))]
    const filter = filterOnParent(target, view, relation)
    // Filters that follow the relation do not find soft-deleted records.
    const mayBeDeleted = view.may.restore !== undefined && !target.fields.has(filter ?? '')
    const hasFilter = filter !== undefined && !mayBeDeleted
    const next = {
      type: hasFilter ? 'string' : ['string', 'null'],
      description: `Path of the records that follow; empty if there are none${hasFilter ? '' : ', null if no filter selects them'}.`,
    }
    return [
      optional(path, { type: 'array', items: anyOf(records) }),
      optional(withSuffix(path, '_next'), next),
      ...(isFreeName(view, `${name}_total`)
        ? [optional(withSuffix(path, '_total'), { type: 'integer', minimum: 0 })]
        : []),
    ]
  })
  const description = 'Members that the parameter `include` adds.'
  return [[includedOf(view.name), { ...objectSchema(members), description }]]
}

const optional = (path: readonly string[], schema: JsonSchema): Member => ({ path, required: false, schema })

function withSuffix(path: readonly string[], suffix: string): readonly string[] {
  return [...path.slice(0, -1), `${path.at(-1)}${suffix}`]
}

function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [first, ...others] = schemas
  return first !== undefined && others.length === 0 ? first : { anyOf: schemas }
}
