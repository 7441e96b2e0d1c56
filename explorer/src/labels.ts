import { useEffect, useMemo, useState } from 'preact/hooks'
import { memberOf } from '../../src/client/group-text'
import { send } from './api'
import { labelOf } from './include'
import { limitError } from './input'
import { type Field, labelField, type Resource, valueAt } from './model'
import { mayRead, type User, useSession } from './session'

/** Label of the record that a foreign key of a record refers to; undefined if it is not known. */
export type LabelOf = (field: Field, record: unknown) => string | undefined

const labelKey = (resource: string, id: unknown): string => `${resource} ${String(id)}`

/** Maximum number of ids in a request: the service limits the length of a parameter, and UUIDs are long. */
const maxIds = 50

function parts(ids: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size))
}

/** Ids in foreign keys, by the resource that they refer to. */
function idsIn(records: readonly unknown[], fields: readonly Field[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const { schema, path } of fields) {
    const target = schema['x-resource']
    for (const id of records.map((record) => valueAt(record, path))) {
      if (target === undefined || id === null || id === undefined) continue
      found.set(target, (found.get(target) ?? new Set()).add(String(id)))
    }
  }
  return found
}

type Labels = readonly (readonly [key: string, label: string | undefined])[]

/** Requests for labels that have not been sent yet, by the resource. */
const waiting = new Map<
  string,
  { readonly user: User | undefined; readonly ids: Set<string>; readonly found: Promise<Labels> }
>()

/** Fetches labels of records. The inputs of a form, each of which needs a label, share the requests. */
function fetchLabels(
  { name, limits }: Resource,
  label: Field,
  ids: ReadonlySet<string>,
  user: User | undefined,
): Promise<Labels> {
  const shared = waiting.get(name)
  if (shared !== undefined && shared.user === user) {
    for (const id of ids) shared.ids.add(id)
    return shared.found
  }
  const read = async (part: readonly string[]): Promise<Labels> => {
    const asked = new URLSearchParams({ id__in: part.map(memberOf).join(), limit: String(part.length) })
    const { json } = await send({ method: 'GET', path: `/${name}/?${asked}` }, user)
    const { objects } = json as { readonly objects: readonly { readonly id: unknown }[] }
    return objects.map((one) => [labelKey(name, one.id), textAt(one, label.path)])
  }
  const all = new Set(ids)
  const found = new Promise((resolve) => setTimeout(resolve)).then(async () => {
    waiting.delete(name)
    const some = parts([...all], Math.min(limits.max, maxIds))
    // If the user may not read the records, the page shows the keys.
    return (await Promise.all(some.map((part) => read(part).catch(() => [])))).flat()
  })
  waiting.set(name, { user, ids: all, found })
  return found
}

/** Labels of records of a resource, by their keys, which may be any text that the user has entered. */
export function useKeyLabels(resource: Resource, keys: readonly string[]): (key: string) => string | undefined {
  const { name } = resource
  const records = useMemo(() => {
    const { schema = {} } = resource.fields.find((one) => one.name === 'id') ?? {}
    // One text that cannot be a key would make the service refuse the request for the labels of all keys.
    return keys.filter((key) => limitError(schema, key) === undefined).map((key) => ({ key }))
  }, [resource, keys])
  const field = useMemo(() => ({ name: 'key', path: ['key'], schema: { 'x-resource': name }, required: false }), [name])
  const fields = useMemo(() => [field], [field])
  const labelOf = useFetchedLabels(records, fields)
  return (key) => labelOf(field, { key })
}

/** Fetches labels for the records that foreign keys refer to, with few requests for each resource. */
export function useFetchedLabels(records: readonly unknown[], fields: readonly Field[]): LabelOf {
  const { model, user } = useSession()
  const [labels, setLabels] = useState<ReadonlyMap<string, string | undefined>>(new Map())
  useEffect(() => {
    let isCurrent = true
    const show = (found: Labels): void => {
      if (isCurrent) setLabels((before) => new Map([...before, ...found]))
    }
    for (const [name, ids] of idsIn(records, fields)) {
      const resource = model.resources.get(name)
      const label = resource && mayRead(resource, user) && labelField(resource)
      if (!label) continue
      void fetchLabels(resource, label, ids, user).then(show)
    }
    return () => {
      isCurrent = false
    }
  }, [records, fields, model, user])
  return ({ schema, path }, record) => labels.get(labelKey(schema['x-resource'] ?? '', valueAt(record, path)))
}

/** Text of a value; undefined for null and for an empty text, which are no labels. */
function textAt(record: unknown, path: readonly string[]): string | undefined {
  return String(valueAt(record, path) ?? '') || undefined
}

/**
 * Labels of the records that foreign keys refer to: those that the records include, and fetched ones for foreign keys
 * whose records cannot be included.
 */
export function useLabels(resource: Resource, records: readonly unknown[]): LabelOf {
  const { model, user } = useSession()
  const others = useMemo(() => {
    const isIncluded = (field: Field): boolean =>
      resource.relations.some(({ foreignKey, path }) => foreignKey === field && valueAt(records[0], path) !== undefined)
    return resource.fields.filter((field) => field.schema['x-resource'] !== undefined && !isIncluded(field))
  }, [resource, records])
  const fetched = useFetchedLabels(records, others)
  return (field, record) => {
    const relation = resource.relations.find(({ foreignKey }) => foreignKey === field)
    const label = relation && labelOf(model, relation, user)
    return (label && textAt(record, [...relation.path, ...label.path])) ?? fetched(field, record)
  }
}
