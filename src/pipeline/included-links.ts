import type { RawRow } from '../connection/statement'
import { filterOnParent } from '../query/parent-filter'
import type { IncludedList } from '../query/query'
import type { Store } from '../read/store'
import type { IncludeReading } from './included-reading'
import type { PageReading } from './page-reading'

/**
 * Returns a function for the path of the next records of an included list: the second page of the list of the related
 * resource, filtered by the parent. The path is null if this list has no filter that leads to the parent.
 */
export function nextPathOf(
  { pathOf, readsDeleted }: Pick<IncludeReading, 'pathOf' | 'readsDeleted'>,
  { view: parent, renderKey }: Store,
  { view, relation, repeated, limit }: IncludedList,
): (raw: RawRow) => string | null {
  const filter = filterOnParent(view, parent, relation)
  const isForeignKey = filter !== undefined && view.fields.has(filter)
  if (filter === undefined || (readsDeleted && !isForeignKey && parent.metadata.deleteDateColumn)) return () => null
  const others = `${repeated === '' ? '' : `&${repeated}`}&limit=${limit}&page=2`
  return (raw) => `${pathOf(view.name)}?${filter}=${encodeURIComponent(String(renderKey(raw)))}${others}`
}

/** Returns a function for the path of a list of the same mount. @param collection path of another list: `/api/note/` */
export function siblingPathOf(collection: string): PageReading['pathOf'] {
  const prefix = collection.slice(0, collection.lastIndexOf('/', collection.length - 2) + 1)
  return (resource) => `${prefix}${resource}/`
}
