import { useEffect, useRef, useState } from 'preact/hooks'
import type { LiveEvent, LiveRecord } from '../../src/client/events'
import { memberOf } from '../../src/client/group-text'
import { followChanges } from './api'
import type { Resource } from './model'
import { pathOf } from './route'
import { useSession } from './session'

/** Maximum number of records whose changes the page follows: each is a value in a filter. */
const maxRecords = 200

/** Parameters that a live list does not have, or that do not select records. */
const paging = ['limit', 'page', 'after', 'count', 'ordering', 'include']

/**
 * Follows the changes of the records that a page shows.
 * @returns a number that grows with each change
 */
export function useChanges(
  { name, isLive }: Resource,
  query: URLSearchParams,
  records: readonly { readonly id: unknown }[],
): number {
  const { user } = useSession()
  const [changes, setChanges] = useState(0)
  const shown = useRef(records)
  shown.current = records
  const filters = new URLSearchParams(query)
  for (const parameter of paging) filters.delete(parameter)
  filters.set('id__in', records.map(({ id }) => memberOf(id)).join())
  const isFollowed = isLive && records.length > 0 && records.length <= maxRecords
  const path = isFollowed ? pathOf(`/${name}/`, filters) : undefined
  useEffect(() => {
    if (path === undefined) return
    const controller = new AbortController()
    // The first event has the whole list, in which something may have changed since the page has read it.
    const receive = (events: readonly LiveEvent[]): void => {
      if (!events.every((event) => event.name === 'reset' && areShown(event.data, shown.current)))
        setChanges((count) => count + 1)
    }
    void followChanges(path, user, controller.signal, receive)
    return () => controller.abort()
  }, [path, user])
  return changes
}

/**
 * Whether a page shows the current records with their current values. Shown records may also have included records, which are
 * not compared.
 */
function areShown(current: readonly LiveRecord[], shown: readonly object[]): boolean {
  const byId = new Map(shown.map((record) => [String((record as LiveRecord).id), record as LiveRecord]))
  const isShown = (record: LiveRecord): boolean =>
    Object.entries(record).every(
      ([name, value]) => JSON.stringify(byId.get(String(record.id))?.[name]) === JSON.stringify(value),
    )
  return current.length === shown.length && current.every(isShown)
}
