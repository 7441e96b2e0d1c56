import { etagOf } from '../client/index.ts'
import type { Identifier, Item, Values } from './collection.ts'

/** Remembers records as they were last read, created or updated. Records from lists are left out: they have no ETag. */
export interface ReadRecords {
  /** Remembers a record and returns it. */
  readonly remember: (resource: string, item: Item) => Item
  /**
   * ETag of a remembered record, for `If-Match`.
   * @param displayed the record as the user sees it
   * @returns undefined if `displayed` has other values, or if the record was not remembered
   */
  readonly etagIfUnchanged: (resource: string, id: Identifier, displayed: Values | undefined) => string | undefined
}

/**
 * Creates an empty memory of records. Records are compared by value, because the record that react-admin passes to a write
 * is a copy, which may come from a list in its cache.
 */
export function createReadRecords(): ReadRecords {
  const items = new Map<string, Item>()
  return {
    remember: (resource, item) => {
      items.set(`${resource}/${item.id}`, item)
      return item
    },
    etagIfUnchanged: (resource, id, displayed) => {
      const item = items.get(`${resource}/${id}`)
      return item !== undefined && isSame(item, displayed) ? etagOf(item) : undefined
    },
  }
}

/** The fields of an edited record whose values differ from those before the edit; all fields without `previous`. */
export function changesOf(data: Values, previous: Values = {}): Values {
  return Object.fromEntries(Object.entries(data).filter(([key, value]) => !isSame(value, previous[key])))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
