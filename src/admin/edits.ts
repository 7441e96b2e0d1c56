import { etagOf } from '../client/index.ts'
import type { Identifier, Item, Values } from './collection.ts'

/** Records as they were last read one by one, which have ETags. */
export interface Seen {
  readonly note: (resource: string, item: Item) => Item
  /** The ETag of a record, if this is what it was when it was read. */
  readonly tagOf: (resource: string, id: Identifier, shown: Values | undefined) => string | undefined
}

/** Copies of a record are told by what they hold: react-admin's cache mixes what lists and items have brought. */
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

/** The fields of an edited record that are not as they were. */
export function changesOf(data: Values, previous: Values = {}): Values {
  return Object.fromEntries(Object.entries(data).filter(([key, value]) => !isSame(value, previous[key])))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
