import { useEffect, useState } from 'preact/hooks'
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
 * @param ids of the records
 * @returns a number that grows with each change
 */
export function useChanges({ name, isLive }: Resource, query: URLSearchParams, ids: readonly string[]): number {
  const { user } = useSession()
  const [changes, setChanges] = useState(0)
  const filters = new URLSearchParams(query)
  for (const parameter of paging) filters.delete(parameter)
  filters.set('id__in', ids.join())
  const isFollowed = isLive && ids.length > 0 && ids.length <= maxRecords
  const path = isFollowed ? pathOf(`/${name}/`, filters) : undefined
  useEffect(() => {
    if (path === undefined) return
    const controller = new AbortController()
    void followChanges(path, user, controller.signal, () => setChanges((count) => count + 1))
    return () => controller.abort()
  }, [path, user])
  return changes
}
