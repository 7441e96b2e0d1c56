import { useEffect, useState } from 'preact/hooks'
import { send } from './api'
import { type Field, labelField, valueAt } from './model'
import { useSession } from './session'

/** Labels of records by resource and id: `country 5`. */
export type Labels = ReadonlyMap<string, string>

export const labelKey = (resource: string, id: unknown): string => `${resource} ${String(id)}`

/** An id of several columns has commas, which a list does not take without quotes. */
const member = (id: string): string => (/[",]/.test(id) ? `"${id.replaceAll('"', '""')}"` : id)

/** What the records that foreign keys name are called, where they may be read: one request for each resource. */
export function useLabels(records: readonly unknown[], fields: readonly Field[]): Labels {
  const { model, user } = useSession()
  const [labels, setLabels] = useState<Labels>(new Map())
  useEffect(() => {
    let isCurrent = true
    const wanted = new Map<string, Set<string>>()
    for (const { schema, path } of fields) {
      const target = schema['x-resource']
      for (const id of records.map((record) => valueAt(record, path))) {
        if (target === undefined || id === null || id === undefined) continue
        wanted.set(target, (wanted.get(target) ?? new Set()).add(String(id)))
      }
    }
    const read = async ([name, ids]: [string, Set<string>]): Promise<void> => {
      const resource = model.resources.get(name)
      const label = resource && labelField(resource)
      if (label === undefined) return
      const asked = new URLSearchParams({ id__in: [...ids].map(member).join(), limit: String(ids.size) })
      const { json } = await send({ method: 'GET', path: `/${name}/?${asked}` }, user)
      const { objects } = json as { readonly objects: readonly { readonly id: unknown }[] }
      const found = objects.map((one): [string, string] => [labelKey(name, one.id), String(valueAt(one, label.path))])
      if (isCurrent) setLabels((before) => new Map([...before, ...found]))
    }
    // Who may not read them sees the keys.
    for (const entry of wanted) read(entry).catch(() => undefined)
    return () => {
      isCurrent = false
    }
  }, [records, fields, model, user])
  return labels
}
