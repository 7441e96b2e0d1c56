/** What the page knows of the service, all of it from its OpenAPI document. */
export interface Model {
  readonly title: string
  readonly resources: ReadonlyMap<string, Resource>
}

export interface Resource {
  readonly name: string
  readonly description: string
  /** What a record shows, flat: the parts of an embedded entity by their paths. */
  readonly fields: readonly Field[]
  readonly filters: readonly FilterField[]
  /** Names that a list can be sorted by. */
  readonly orderings: ReadonlySet<string>
  /** What a POST and a PUT give; undefined where there is none. */
  readonly creates: readonly Field[] | undefined
  readonly updates: readonly Field[] | undefined
  readonly deletes: boolean
  /** Whether nobody changes anything without signing in. */
  readonly writesNeedUser: boolean
  /** The field that names who may change a record. */
  readonly owner: string | undefined
  /** Foreign keys of other resources that lead here. */
  readonly referrers: readonly Reference[]
  readonly limits: { readonly max: number; readonly default: number }
}

/** A foreign key. */
export interface Reference {
  readonly resource: string
  readonly field: string
}

/** One value of a record. */
export interface Field {
  /** `profile__city` for one in an embedded entity. */
  readonly name: string
  readonly path: readonly string[]
  readonly schema: Schema
  readonly required: boolean
}

/** What a list can be filtered by: a field of its own, or one through relations, with the operators that it has. */
export interface FilterField {
  readonly name: string
  readonly operators: ReadonlyMap<string, Schema>
}

export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly maxLength?: number
  readonly readOnly?: boolean
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-resource'?: string
  readonly 'x-owner'?: string
}

interface Parameter {
  readonly name: string
  readonly schema: Schema
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  /** What a request shows of its user, in other ways; one that is empty is none. */
  readonly security?: readonly object[]
}

interface PathItem {
  readonly get?: Operation
  readonly post?: Operation
  readonly put?: Operation
  readonly delete?: Operation
}

export interface OpenApi {
  readonly info: { readonly title: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export const operators: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '≠',
  lt: '<',
  lte: '≤',
  gt: '>',
  gte: '≥',
  in: 'is one of',
  is: 'is',
  like: 'like',
  ilike: 'like, any case',
}

const notFilters: readonly string[] = ['ordering', 'limit', 'page', 'after']

export function readModel({ info, tags, paths, components: { schemas } }: OpenApi): Model {
  const fieldsOf = (name: string): readonly Field[] | undefined => schemas[name] && fieldsIn(schemas[name])
  const all = tags.map(({ name }) => ({ name, fields: fieldsOf(name) ?? [] }))
  const resources = tags.map(({ name, description }): [string, Resource] => {
    const [collection, item] = [paths[`/${name}`], paths[`/${name}/{id}`]]
    const parameters = collection?.get?.parameters ?? []
    const find = (wanted: string): Schema => parameters.find((one) => one.name === wanted)?.schema ?? {}
    const limit = find('limit')
    const resource: Resource = {
      name,
      description,
      fields: fieldsOf(name) ?? [],
      filters: filtersIn(parameters),
      orderings: new Set((find('ordering').items?.enum ?? []).map(String)),
      creates: collection?.post === undefined ? undefined : fieldsOf(`${name}.create`),
      updates: item?.put === undefined ? undefined : fieldsOf(`${name}.update`),
      deletes: item?.delete !== undefined,
      writesNeedUser: [collection?.post, item?.put, item?.delete].some(needsUser),
      owner: schemas[name]?.['x-owner'],
      referrers: all.flatMap((other) =>
        other.fields
          .filter(({ schema }) => schema['x-resource'] === name)
          .map((field) => ({ resource: other.name, field: field.name })),
      ),
      limits: { max: limit.maximum ?? 1000, default: Number(limit.default ?? 20) },
    }
    return [name, resource]
  })
  return { title: info.title, resources: new Map(resources) }
}

function needsUser({ security = [] }: Operation = {}): boolean {
  return security.length > 0 && security.every((way) => Object.keys(way).length > 0)
}

function fieldsIn({ properties = {}, required = [] }: Schema, path: readonly string[] = []): readonly Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = [...path, name]
    // JSON and maps are one value, embedded entities several.
    if (schema.properties !== undefined) return fieldsIn(schema, own)
    return [{ name: own.join('__'), path: own, schema, required: required.includes(name) }]
  })
}

function filtersIn(parameters: readonly Parameter[]): readonly FilterField[] {
  const names = new Set(parameters.map(({ name }) => name))
  const found = new Map<string, Map<string, Schema>>()
  for (const { name, schema } of parameters) {
    if (notFilters.includes(name)) continue
    const [, base = name, operator = 'eq'] = /^(.+)__([a-z]+)$/.exec(name) ?? []
    const isOperator = Object.hasOwn(operators, operator) && (names.has(base) || operator === 'is' || operator === 'eq')
    const key = isOperator ? base : name
    const field = found.get(key) ?? new Map<string, Schema>()
    field.set(isOperator ? operator : 'eq', schema)
    found.set(key, field)
  }
  return [...found].map(([name, all]) => ({ name, operators: all }))
}

/** The name of a filter in the query string. */
export function filterName(field: string, operator: string): string {
  return operator === 'eq' && !notFilters.includes(field) ? field : `${field}__${operator}`
}

/** What a filter of the query string is about; undefined for what the list has none of. */
export function findFilter(resource: Resource, name: string): { field: FilterField; operator: string } | undefined {
  for (const field of resource.filters) {
    for (const operator of field.operators.keys()) {
      if (filterName(field.name, operator) === name || `${field.name}__${operator}` === name) return { field, operator }
    }
  }
  return undefined
}

/** `country__region` as a person reads it. */
export function title(name: string): string {
  return name.split('__').join(' › ')
}

export function valueAt(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (Object(value) as Record<string, unknown>)[name], record)
}

export function typesOf({ type }: Schema): readonly string[] {
  return type === undefined ? [] : [type].flat()
}

export function isNullable(schema: Schema): boolean {
  return typesOf(schema).includes('null') || schema.enum?.includes(null) === true
}

/** The field that a record is best known by. */
export function labelField({ fields }: Resource): Field | undefined {
  const isText = ({ schema }: Field): boolean => typesOf(schema).includes('string')
  const known = ['name', 'title', 'username', 'label', 'code', 'subject']
  return known.flatMap((name) => fields.find((field) => field.name === name && isText(field)) ?? [])[0]
}
