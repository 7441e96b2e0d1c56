import { includesText } from '../../src/client/include-text'
import { type Field, labelField, type Model, type Relation, type Resource } from './model'
import { mayRead, type User } from './session'

/** Columns of a related record: names of its fields. */
type Columns = readonly string[]

/** Maximum number of relations that a request may include by default (`limits.includes`). */
const maxRelations = 8

/** A relation in the value of `include`, alone or with fields: `country`, `country(fields:name)`, `country(fields:(id,name))`. */
const member = /([^(),:]+)(?:[(]fields:(?:[(]([^():]+)[)]|([^(),:]+))[)])?(?:,|$)/gy

/**
 * Columns of related records, by the name of the relation, from the value of the parameter `include`.
 * @returns undefined if the value has something else, such as a relation to many records
 */
export function columnsIn(model: Model, { relations }: Resource, text = ''): ReadonlyMap<string, Columns> | undefined {
  const members = [...text.matchAll(member)]
  if (members.reduce((length, [match]) => length + match.length, 0) < text.length) return undefined
  const columns = members.map(([, name = '', list, single]): [string, Columns | undefined] => {
    const relation = relations.find((one) => one.name === name)
    const fields = relation && (model.resources.get(relation.target)?.fields ?? []).map((field) => field.name)
    return [name, fields && ((list ?? single)?.split(',') ?? fields)]
  })
  return columns.some(([, fields]) => fields === undefined) ? undefined : new Map(columns as [string, Columns][])
}

/** Maximum number of records of a relation to many that the page of a record shows. */
export const maxListed = 10

/** Value of `include` for columns; undefined if there are none. @param lists columns of relations to many records */
export function columnsText(
  columns: ReadonlyMap<string, Columns>,
  lists: ReadonlyMap<string, Columns> = new Map(),
): string | undefined {
  const filled = [...columns].filter(([, fields]) => fields.length > 0)
  return includesText({
    ...Object.fromEntries(filled.map(([name, fields]) => [name, { fields }])),
    ...Object.fromEntries([...lists].map(([name, fields]) => [name, { fields, limit: maxListed }])),
  })
}

/** Relations to many records that the user may read, with the labels of these. */
export function listsFor(model: Model, { lists }: Resource, user: User | undefined) {
  return lists.flatMap((list) => {
    const target = model.resources.get(list.target)
    return target && mayRead(target, user) ? [{ ...list, label: labelField(target) }] : []
  })
}

/** Label of the record that a relation leads to; undefined if the user may not read it. */
export function labelOf(model: Model, { target }: Relation, user: User | undefined): Field | undefined {
  const resource = model.resources.get(target)
  return resource && mayRead(resource, user) ? labelField(resource) : undefined
}

/**
 * Value of `include` for a request: the given columns, and the labels of the records that foreign keys refer to.
 * @param text value of `include` in the URL of the page
 * @param shown names of the fields of the request; undefined for all
 * @param lists relations to many records that are shown too
 */
export function includeFor(
  model: Model,
  resource: Resource,
  user: User | undefined,
  text: string | undefined,
  shown: readonly string[] | undefined,
  lists: ReturnType<typeof listsFor> = [],
): string | undefined {
  const columns = columnsIn(model, resource, text)
  if (columns === undefined) return text
  const labels = resource.relations
    .filter(({ foreignKey }) => shown?.includes(foreignKey.name) ?? true)
    .flatMap((relation): [string, Columns][] => {
      const label = labelOf(model, relation, user)
      return label ? [[relation.name, [label.name]]] : []
    })
  const all = new Map(columns)
  for (const [name, label] of labels) {
    if (all.has(name) || all.size < maxRelations) all.set(name, [...new Set([...(all.get(name) ?? []), ...label])])
  }
  const listed = lists.slice(0, maxRelations - all.size)
  return columnsText(all, new Map(listed.map(({ name, label }) => [name, [label?.name ?? 'id']])))
}
