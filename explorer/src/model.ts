import { needsUser, type OpenApi, type Schema, typesOf } from './document'
import { type FilterField, filtersIn } from './filter-field'

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
  /** Names of fields of related records that a list can be sorted by. */
  readonly relatedOrderings: readonly string[]
  /** What a POST and a PUT give; undefined where there is none. */
  readonly creates: readonly Field[] | undefined
  readonly updates: readonly Field[] | undefined
  readonly deletes: boolean
  /** Whether nobody changes anything without signing in. */
  readonly writesNeedUser: boolean
  /** Whether nobody but administrators does. */
  readonly writesNeedAdmin: boolean
  /** The field that names who may change a record. */
  readonly owner: string | undefined
  /** Foreign keys of other resources that lead here. */
  readonly referrers: readonly Reference[]
  readonly limits: { readonly max: number; readonly default: number }
  /** Whether its lists can be counted. */
  readonly counts: boolean
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

export function readModel({ info, tags, paths, components: { schemas } }: OpenApi): Model {
  const fieldsOf = (name: string): readonly Field[] | undefined => schemas[name] && fieldsIn(schemas[name])
  const all = tags.map(({ name }) => ({ name, fields: fieldsOf(name) ?? [] }))
  const resources = tags.map(({ name, description }): [string, Resource] => {
    const [collection, item] = [paths[`/${name}`], paths[`/${name}/{id}`]]
    const parameters = collection?.get?.parameters ?? []
    const find = (wanted: string): Schema => parameters.find((one) => one.name === wanted)?.schema ?? {}
    const limit = find('limit')
    const writes = [collection?.post, item?.put, item?.delete]
    const fields = fieldsOf(name) ?? []
    const filters = filtersIn(parameters)
    const resource: Resource = {
      name,
      description,
      fields,
      filters,
      relatedOrderings: fields.flatMap((field) => {
        const related = fieldsOf(field.schema['x-resource'] ?? '') ?? []
        const names = related.map((other) => `${field.name.replace(/_id$/, '')}__${other.name}`)
        return names.filter((one) => filters.some((filter) => filter.name === one && filter.operators.has('eq')))
      }),
      orderings: new Set((find('ordering').items?.anyOf?.[0]?.enum ?? []).map(String)),
      creates: collection?.post === undefined ? undefined : fieldsOf(`${name}.create`),
      updates: item?.put === undefined ? undefined : fieldsOf(`${name}.update`),
      deletes: item?.delete !== undefined,
      writesNeedUser: writes.some(needsUser),
      writesNeedAdmin: writes.some((write) => write?.['x-needs'] === 'admins'),
      owner: schemas[name]?.['x-owner'],
      referrers: all.flatMap((other) =>
        other.fields
          .filter(({ schema }) => schema['x-resource'] === name)
          .map((field) => ({ resource: other.name, field: field.name })),
      ),
      limits: { max: limit.maximum ?? 1000, default: Number(limit.default ?? 20) },
      // Without records a list is only counted.
      counts: limit.minimum === 0,
    }
    return [name, resource]
  })
  return { title: info.title, resources: new Map(resources) }
}

function fieldsIn({ properties = {}, required = [] }: Schema, path: readonly string[] = []): readonly Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = [...path, name]
    // JSON and maps are one value, embedded entities several.
    if (schema.properties !== undefined) return fieldsIn(schema, own)
    return [{ name: own.join('__'), path: own, schema, required: required.includes(name) }]
  })
}

/** `country__region` as a person reads it. */
export function title(name: string): string {
  return name.split('__').join(' › ')
}

export function valueAt(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (Object(value) as Record<string, unknown>)[name], record)
}

/** The field that a record is best known by. */
export function labelField({ fields }: Resource): Field | undefined {
  const isText = ({ schema }: Field): boolean => typesOf(schema).includes('string')
  const known = ['name', 'title', 'username', 'label', 'code', 'subject']
  return known.flatMap((name) => fields.find((field) => field.name === name && isText(field)) ?? [])[0]
}
