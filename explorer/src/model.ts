import type { Aggregates } from './aggregate'
import { isShortText, needsUser, type OpenApi, type Operation, type Parameter, type Schema, typesOf } from './document'
import { type FilterField, filtersIn } from './filter-field'
import { isNested, type RowFields, rowFieldsOf, withoutIncluded } from './nested'
import { type Scheme, schemesOf } from './scheme'

/** Description of the service, read from its OpenAPI document. */
export interface Model {
  readonly title: string
  readonly resources: ReadonlyMap<string, Resource>
  readonly schemes: readonly Scheme[]
}

export interface Resource {
  readonly name: string
  readonly description: string
  /** Fields of a record. Fields of embedded entities are in the same list, with their paths. */
  readonly fields: readonly Field[]
  /** Relations to one record that lists can include. */
  readonly relations: readonly Relation[]
  readonly filters: readonly FilterField[]
  /** Names of fields by which a list can be sorted. */
  readonly orderings: ReadonlySet<string>
  /** Names of fields of related records by which a list can be sorted. */
  readonly relatedOrderings: readonly string[]
  /** Fields in the body of a POST; undefined if there is no POST. */
  readonly creates: readonly Field[] | undefined
  /** Fields in the body of a PUT, without related records; undefined if there is no PUT. */
  readonly updates: readonly Field[] | undefined
  /** Members of the body of a PUT that replace related records, such as `lines` or `tag_ids`. */
  readonly nested: readonly Field[]
  /** Whether a record has PATCH. Unlike a PUT, it leaves related records that are not in its body. */
  readonly patches: boolean
  readonly deletes: boolean
  /** Whether the user may restore soft-deleted records. Lists and records then have the parameter `deleted`. */
  readonly restores: boolean
  /** Maximum number of records that one request can change; 0 if it can change only one. */
  readonly maxChanged: number
  /** Maximum number of records that one request can delete; 0 if it can delete only one. */
  readonly maxDeleted: number
  /** Media types of files whose records a POST creates. */
  readonly fileTypes: readonly string[]
  /** Values of the parameter `on_conflict` of a POST: fields, separated by commas, by which it finds existing records. */
  readonly conflictFields: readonly string[]
  /** Whether reads require a user. */
  readonly readsNeedUser: boolean
  /** Whether reads require an administrator. */
  readonly readsNeedAdmin: boolean
  /** Whether writes require a user. */
  readonly writesNeedUser: boolean
  /** Whether writes require an administrator. */
  readonly writesNeedAdmin: boolean
  /** Name of the field with the owner of a record. */
  readonly owner: string | undefined
  /** Relations to many records that no foreign key of these shows, such as many-to-many. */
  readonly lists: readonly RelatedList[]
  /** Foreign keys that refer to this resource. */
  readonly referrers: readonly Reference[]
  readonly limits: { readonly max: number; readonly default: number }
  /** Whether lists have the parameter `count`. */
  readonly counts: boolean
  /** Undefined if lists cannot have groups instead of records. */
  readonly aggregates: Aggregates | undefined
  /** Whether lists send their changes. */
  readonly isLive: boolean
  /** Whether lists are available as CSV. */
  readonly hasCsv: boolean
  /** Whether lists have the parameter `search`. */
  readonly searches: boolean
}

/** A relation to one record. */
export interface Relation {
  /** Name in the parameter `include`, such as `country`. */
  readonly name: string
  /** Path of the related record in a record. */
  readonly path: readonly string[]
  readonly foreignKey: Field
  /** Name of the related resource. */
  readonly target: string
}

/** A relation to many records. */
export interface RelatedList {
  /** Name in the parameter `include`. */
  readonly name: string
  readonly path: readonly string[]
  /** Name of the related resource. */
  readonly target: string
}

/** A foreign key. */
export interface Reference {
  readonly resource: string
  readonly field: string
}

/** A field of a record. */
export interface Field {
  /** Such as `profile__city` for a field of an embedded entity. */
  readonly name: string
  readonly path: readonly string[]
  readonly schema: Schema
  readonly required: boolean
  /** Inputs of the records in the field; undefined if its value has no records. */
  readonly rows?: RowFields
}

export function readModel({ info, tags, paths, components: { schemas, securitySchemes } }: OpenApi): Model {
  const fieldsOf = (name: string): readonly Field[] | undefined =>
    schemas[name] && withoutIncluded(fieldsIn(schemas[name]))
  const all = tags.map(({ name }) => ({ name, fields: fieldsOf(name) ?? [] }))
  const resources = tags.map(({ name, description }): [string, Resource] => {
    const [collection, item] = [paths[`/${name}`], paths[`/${name}/{id}`]]
    const parameters = (collection?.get?.parameters ?? []).filter((parameter) => parameter.in === 'query')
    const find = (wanted: string): Schema => parameters.find((one) => one.name === wanted)?.schema ?? {}
    const limit = find('limit')
    const writes = [collection?.post, item?.put, item?.delete]
    const fields = fieldsOf(name) ?? []
    const updates = item?.put === undefined ? undefined : fieldsOf(`${name}.update`)
    const filters = filtersIn(parameters)
    const reads = collection?.get
    const referrers = all.flatMap((other) =>
      other.fields
        .filter(({ schema }) => schema['x-resource'] === name)
        .map((field) => ({ resource: other.name, field: field.name })),
    )
    const resource: Resource = {
      name,
      description,
      fields,
      relations: relationsIn(fields, parameters),
      filters,
      relatedOrderings: fields.flatMap((field) => {
        const related = fieldsOf(field.schema['x-resource'] ?? '') ?? []
        const names = related.map((other) => `${field.name.replace(/_id$/, '')}__${other.name}`)
        return names.filter((one) => filters.some((filter) => filter.name === one && filter.operators.has('eq')))
      }),
      orderings: new Set((find('ordering').items?.anyOf?.[0]?.enum ?? []).map(String)),
      creates: collection?.post === undefined ? undefined : fieldsOf(`${name}.create`),
      updates: updates?.filter((field) => !isNested(field)),
      nested: updates?.filter(isNested) ?? [],
      patches: item?.patch !== undefined,
      deletes: item?.delete !== undefined,
      restores: `/${name}/{id}/restore` in paths,
      maxChanged: maxRecords(collection?.patch),
      maxDeleted: maxRecords(collection?.delete),
      fileTypes: fileTypes.filter((type) => type in (collection?.post?.requestBody?.content ?? {})),
      conflictFields: (parameterOf(collection?.post, 'on_conflict')?.enum ?? []).map(String),
      readsNeedUser: needsUser(reads),
      readsNeedAdmin: reads?.['x-needs'] === 'admins',
      writesNeedUser: writes.some(needsUser),
      writesNeedAdmin: writes.some((write) => write?.['x-needs'] === 'admins'),
      owner: schemas[name]?.['x-owner'],
      lists: listsIn(schemas[`${name}.included`]).filter(
        ({ target }) => !referrers.some((other) => other.resource === target),
      ),
      referrers,
      limits: { max: limit.maximum ?? 1000, default: Number(limit.default ?? 20) },
      // Lists that can be counted allow `limit=0`.
      counts: limit.minimum === 0,
      aggregates: aggregatesOf(find('aggregate'), find('by')),
      isLive: reads?.responses?.['200']?.content?.['text/event-stream'] !== undefined,
      hasCsv: find('format').enum?.includes('csv') === true && !filters.some((filter) => filter.name === 'format'),
      searches: parameters.some((one) => one.name === 'search') && !filters.some((filter) => filter.name === 'search'),
    }
    return [name, resource]
  })
  return { title: info.title, resources: new Map(resources), schemes: schemesOf(securitySchemes) }
}

/** Media types of files that can be imported. */
const fileTypes = ['text/csv', 'application/x-ndjson']

/** Schema of a parameter. It is the last one of this name: filters, whose fields may have any name, come before. */
function parameterOf({ parameters = [] }: Operation = {}, name: string): Schema | undefined {
  return parameters.findLast((parameter) => parameter.in === 'query' && parameter.name === name)?.schema
}

/** Maximum number of records that an operation on a collection can write; 0 if there is no such operation. */
function maxRecords(operation: Operation | undefined): number {
  return parameterOf(operation, 'max')?.maximum ?? 0
}

/** @returns undefined if a list does not have both parameters, or if they are filters */
function aggregatesOf(functions: Schema, keys: Schema): Aggregates | undefined {
  if (functions.maxItems === undefined || keys.maxItems === undefined) return undefined
  return {
    functions: functions.items ?? {},
    keys: keys.items ?? {},
    maxFunctions: functions.maxItems,
    maxKeys: keys.maxItems,
  }
}

function fieldsIn({ properties = {}, required = [] }: Schema, path: readonly string[] = []): readonly Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = [...path, name]
    // Only embedded entities have `properties`; JSON and maps are one value.
    if (schema.properties !== undefined) return fieldsIn(schema, own)
    const rows = rowFieldsOf(schema, (one) => fieldsIn(one))
    return [{ name: own.join('__'), path: own, schema, required: required.includes(name), ...(rows && { rows }) }]
  })
}

function relationsIn(fields: readonly Field[], parameters: readonly Parameter[]): readonly Relation[] {
  const { pattern } = parameters.find(({ name }) => name === 'include')?.schema ?? {}
  if (pattern === undefined) return []
  const isIncludable = new RegExp(pattern)
  return fields.flatMap((foreignKey) => {
    const target = foreignKey.schema['x-resource']
    const name = foreignKey.name.replace(/_id$/, '')
    if (target === undefined || name === foreignKey.name || !isIncludable.test(name)) return []
    return [{ name, path: name.split('__'), foreignKey, target }]
  })
}

/** Relations to many records in the schema of included members, which have a reference to the schema of a record. */
function listsIn(included: Schema = {}): readonly RelatedList[] {
  return fieldsIn(included).flatMap(({ name, path, schema }) => {
    const target = (schema.items?.anyOf?.[0] ?? schema.items)?.$ref?.split('/').at(-1)
    return target === undefined ? [] : [{ name, path, target }]
  })
}

/** Text for a number of records, such as `1 record`. */
export function countOf(count: number): string {
  return count === 1 ? '1 record' : `${count.toLocaleString('en')} records`
}

/** Display name of a field: `country__region` becomes `country › region`. */
export function title(name: string): string {
  return name.split('__').join(' › ')
}

/** Whether the values of a field are numbers, and not keys. */
export function isNumber({ name, schema }: Field): boolean {
  const isKey = name === 'id' || schema['x-resource'] !== undefined
  return !isKey && (schema.format === 'decimal' || typesOf(schema).some((type) => /integer|number/.test(type)))
}

export function valueAt(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (Object(value) as Record<string, unknown>)[name], record)
}

const labelNames = ['name', 'title', 'username', 'label', 'code', 'subject']

/** Field that serves as the label of a record: one with a usual name, otherwise the first short text. */
export function labelField({ fields }: Resource): Field | undefined {
  const texts = fields.filter(({ name, schema }) => name !== 'id' && typesOf(schema).includes('string'))
  const usual = labelNames.flatMap((name) => texts.find((field) => field.name === name) ?? [])
  return usual[0] ?? texts.find(({ schema }) => isShortText(schema))
}
