import { useEffect, useState } from 'preact/hooks'
import { memberOf } from '../../src/client/group-text'
import { send } from './api'
import { type Field, labelField, valueAt } from './model'
import { useSession } from './session'

/** Labels of records by {@link labelKey}, such as `country 5`. */
export type Labels = ReadonlyMap<string, string>

export const labelKey = (resource: string, id: unknown): string => `${resource} ${String(id)}`

/** Maximum number of ids in a request: the service limits the length of a parameter, and UUIDs are long. */
const mostIds = 50

function parts(ids: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size))
}

/** Ids in the foreign keys of records, by the resource that they refer to. */
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

/** Fetches labels for the records that foreign keys refer to, with few requests for each resource. */
export function useLabels(records: readonly unknown[], fields: readonly Field[]): Labels {
  const { model, user } = useSession()
  const [labels, setLabels] = useState<Labels>(new Map())
  useEffect(() => {
    let isCurrent = true
    const read = async (name: string, label: Field, ids: readonly string[]): Promise<void> => {
      const asked = new URLSearchParams({ id__in: ids.map(memberOf).join(), limit: String(ids.length) })
      const { json } = await send({ method: 'GET', path: `/${name}/?${asked}` }, user)
      const { objects } = json as { readonly objects: readonly { readonly id: unknown }[] }
      const found = objects.map((one): [string, string] => [labelKey(name, one.id), String(valueAt(one, label.path))])
      if (isCurrent) setLabels((before) => new Map([...before, ...found]))
    }
    for (const [name, ids] of idsIn(records, fields)) {
      const resource = model.resources.get(name)
      const label = resource && labelField(resource)
      if (resource === undefined || label === undefined) continue
      const some = parts([...ids], Math.min(resource.limits.max, mostIds))
      // If the user may not read the records, the page shows the keys.
      for (const part of some) read(name, label, part).catch(() => undefined)
    }
    return () => {
      isCurrent = false
    }
  }, [records, fields, model, user])
  return labels
}
