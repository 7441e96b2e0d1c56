import { isDateTime, type Schema, typesOf } from './document'
import { type Field, type Model, type Resource, title } from './model'
import { mayRead, type User } from './session'

/** Schemas of the names in the parameters `aggregate` and `by`. */
export interface Aggregates {
  readonly functions: Schema
  readonly keys: Schema
  /** Maximum numbers of names. */
  readonly maxFunctions: number
  readonly maxKeys: number
}

/** A group of records: the values of the names in `aggregate` and `by`. */
export type Group = Readonly<Record<string, unknown>>

/** Names with the same start, for a select box. */
export interface NameGroup {
  readonly label: string
  readonly names: readonly string[]
}

const dateParts = ['year', 'quarter', 'month', 'week', 'day']

/** Display names of functions, which precede the name of a field. */
const functionWords: Readonly<Record<string, string>> = {
  sum: 'sum of',
  avg: 'average of',
  min: 'minimum',
  max: 'maximum',
  count_distinct: 'different values of',
}

/** Display name of a member of a group: `pages__sum` becomes `sum of pages`, `bought__month` becomes `bought by month`. */
export function wordsOfMember(name: string): string {
  const [, path = name, suffix = ''] = /^(.+)__([a-z_]+?)$/.exec(name) ?? []
  const [, counted] = /^(.+)__count_distinct$/.exec(name) ?? []
  if (counted) return `${functionWords['count_distinct']} ${title(counted)}`
  if (functionWords[suffix]) return `${functionWords[suffix]} ${title(path)}`
  return dateParts.includes(suffix) ? `${title(path)} by ${suffix}` : title(name)
}

/** Names for the parameter `aggregate`. */
export function functionNames(model: Model, resource: Resource, user: User | undefined): readonly NameGroup[] {
  const functions = namesOf(model, resource, user, resource.aggregates?.functions ?? {}, ({ schema }) => {
    if (isNumeric(schema)) return ['__sum', '__avg', '__min', '__max', '__count_distinct']
    return [...(isDate(schema) ? ['__min', '__max'] : []), ...(isGroupable(schema) ? ['__count_distinct'] : [])]
  })
  return [{ label: 'records', names: ['count'] }, ...functions]
}

/** Names for the parameter `by`. */
export function keyNames(model: Model, resource: Resource, user: User | undefined): readonly NameGroup[] {
  return namesOf(model, resource, user, resource.aggregates?.keys ?? {}, ({ schema }) => [
    ...(isGroupable(schema) ? [''] : []),
    ...(isDate(schema) ? dateParts.map((part) => `__${part}`) : []),
  ])
}

function namesOf(
  model: Model,
  resource: Resource,
  user: User | undefined,
  accepted: Schema,
  suffixesOf: (field: Field) => readonly string[],
): readonly NameGroup[] {
  const group = (label: string, prefix: string, fields: readonly Field[]): NameGroup => {
    // Ids are unique, so that groups and sums of ids have no use.
    const others = fields.filter((field) => field.name !== 'id')
    const names = others.flatMap((field) => suffixesOf(field).map((suffix) => `${prefix}${field.name}${suffix}`))
    return { label, names: names.filter((name) => accepts(accepted, name)) }
  }
  const related = resource.relations.flatMap((relation) => {
    const target = model.resources.get(relation.target)
    const isReadable = target !== undefined && mayRead(target, user)
    return isReadable ? [group(title(relation.name), `${relation.name}__`, target.fields)] : []
  })
  return [group(resource.name, '', resource.fields), ...related].filter(({ names }) => names.length > 0)
}

/** Whether a schema of the parameter `aggregate` or `by` accepts a name. It has only `anyOf`, `enum` or `pattern`. */
function accepts({ enum: members, pattern, anyOf }: Schema, name: string): boolean {
  if (anyOf !== undefined) return anyOf.some((schema) => accepts(schema, name))
  return members === undefined ? new RegExp(pattern ?? '').test(name) : members.includes(name)
}

function isNumeric(schema: Schema): boolean {
  const types = typesOf(schema)
  const isNumber = types.includes('integer') || types.includes('number') || schema.format === 'decimal'
  return isNumber && schema['x-resource'] === undefined
}

function isDate(schema: Schema): boolean {
  return schema.format === 'date' || isDateTime(schema)
}

/** Whether a list can be grouped by the values of a field. Floats, date-times, arrays and objects cannot be group keys. */
function isGroupable(schema: Schema): boolean {
  const types = typesOf(schema)
  return ['string', 'boolean', 'integer'].some((type) => types.includes(type)) && !isDateTime(schema)
}

/** Names in a parameter with a comma-separated list. */
export function namesIn(query: URLSearchParams, parameter: string): readonly string[] {
  return (query.get(parameter) ?? '').split(',').filter((name) => name !== '')
}

/** The field with the values of a member of a group. A name in `by` may omit `_id`. */
export function memberField(model: Model, resource: Resource, name: string): Field {
  const find = (fields: readonly Field[], wanted: string): Field | undefined =>
    fields.find((field) => field.name === wanted) ?? fields.find((field) => field.name === `${wanted}_id`)
  const relation = resource.relations.find((one) => name.startsWith(`${one.name}__`))
  const target = relation && model.resources.get(relation.target)
  const field =
    find(resource.fields, name) ?? (relation && find(target?.fields ?? [], name.slice(relation.name.length + 2)))
  return { name, path: [name], schema: field?.schema ?? {}, required: false }
}
