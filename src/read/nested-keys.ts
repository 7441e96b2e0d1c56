import type { DbSession } from '../connection/db-session'
import { ApiError } from '../errors'
import { nestedList } from '../query/nested-query'
import type { NestedRelation } from '../schema/resource-view'
import { readIncluded } from './included'
import { maxKeyValues, type ParentKeys } from './included-statements'
import { joinColumnValues } from './row'
import type { Store } from './store'

/** Keys of related records, in their order, by the text of their parent in {@link ParentKeys}. */
export type KeysByParent = ReadonlyMap<string, readonly unknown[]>

/** Related records of several parents, by a relation that bodies may contain. */
export interface NestedLists {
  /** Store of the related records. */
  readonly store: Store
  readonly relation: NestedRelation
  /** Store of the parents. */
  readonly parent: Store
  /** The parents whose related records are read. */
  readonly keys: ParentKeys
}

/**
 * Reads the keys of the related records of several parents, as far as the principal may see them.
 * @param maxRecords maximum number of related records of all parents
 * @throws {ApiError} `conflict` if there are more
 */
export async function readNestedKeys(
  session: DbSession,
  { store, relation, parent, keys: parents }: NestedLists,
  maxRecords: number,
): Promise<KeysByParent> {
  const list = nestedList(parent.view, relation, { select: 'key', limit: maxRecords + 1 })
  const keysByParent = new Map<string, unknown[]>()
  let count = 0
  for (const keys of splitParents(parents, parent)) {
    const lists = { store, list, parent, keys }
    // A parent without related records may have a row of nulls.
    const maxRows = Math.min(keys.size * list.limit, maxRecords + 1 + keys.size)
    for (const { parent: text, raw } of await readIncluded(session, lists, maxRows, undefined)) {
      const ofParent = keysByParent.get(text) ?? []
      keysByParent.set(text, ofParent)
      ofParent.push(joinColumnValues(store.selected.key.readRow(raw)))
      count++
    }
    if (count > maxRecords) throw tooManyStored(parent, store, maxRecords)
  }
  return keysByParent
}

/** Splits the parents into groups whose keys a statement can bind. */
export function splitParents(parents: ParentKeys, { view }: Store): readonly ParentKeys[] {
  const length = Math.floor(maxKeyValues / view.key.columns.length)
  if (parents.size <= length) return parents.size === 0 ? [] : [parents]
  const entries = [...parents]
  const starts = [...entries.keys()].filter((index) => index % length === 0)
  return starts.map((start) => new Map(entries.slice(start, start + length)))
}

function tooManyStored({ view: parent }: Store, { view }: Store, max: number): ApiError {
  return new ApiError(
    'conflict',
    `the ${parent.name} has more than ${max} related ${view.name} records, too many to compare with those of the body; use PATCH`,
  )
}
