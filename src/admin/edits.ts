import { etagOf } from '../client/index.ts'
import type { Identifier, Item, Values } from './collection.ts'

/** Records as they were last read, created or updated individually, which gives them an ETag. */
export interface Seen {
  /** Remembers a record and returns it. */
  readonly note: (resource: string, item: Item) => Item
  /** ETag of a remembered record. @returns undefined if `shown` differs from it */
  readonly tagOf: (resource: string, id: Identifier, shown: Values | undefined) => string | undefined
}

/**
 * Creates the memory of records. Records are compared by value, because react-admin's cache mixes copies from lists and
 * items.
 */
export function createSeen(): Seen {
  const items = new Map<string, Item>()
  return {
    note: (resource, item) => {
      items.set(`${resource}/${item.id}`, item)
      return item
    },
    tagOf: (resource, id, shown) => {
      const item = items.get(`${resource}/${id}`)
      return item !== undefined && isSame(item, shown) ? etagOf(item) : undefined
    },
  }
}

/** Fields of an edited record whose values have changed. */
export function changesOf(data: Values, previous: Values = {}): Values {
  return Object.fromEntries(Object.entries(data).filter(([key, value]) => !isSame(value, previous[key])))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
