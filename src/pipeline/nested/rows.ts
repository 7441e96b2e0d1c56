import { ApiError } from '../../errors'
import { nestedList } from '../../query/nested-query'
import type { IncludedRow } from '../../read/included'
import type { ParentKeys } from '../../read/included-statements'
import { splitParents } from '../../read/nested-keys'
import type { Store } from '../../read/store'
import { isCausedByQueryValue } from '../../read/unreadable'
import type { Limits } from '../../request/limits'
import type { NestedList } from '../../schema/resource-view'
import { readWithinLimits } from '../included-reading'
import type { PermittedRequest } from '../service'

/**
 * Reads the related records of several parents that a body names by their keys, as far as the principal may see them.
 * @param store of the related records
 * @param parent store of the parents
 * @throws {ApiError} `bad-body` if the records are too large, `bad-values` if the database cannot read a key
 */
export async function readNamedRecords(
  { session, responseMemory }: PermittedRequest,
  limits: Limits,
  store: Store,
  relation: NestedList,
  parent: Store,
  parents: ParentKeys,
  keys: readonly unknown[],
): Promise<readonly IncludedRow[]> {
  if (keys.length === 0) return []
  const list = nestedList(parent.view, relation, { select: 'entityColumns', keys, limit: limits.nested + 1 })
  const rowLimit = { maxRows: keys.length, tooMany: () => tooLarge(relation), tooLarge: () => tooLarge(relation) }
  const rows: IncludedRow[] = []
  try {
    for (const some of splitParents(parents, parent)) {
      const reading = { session, limits, responseMemory }
      rows.push(...(await readWithinLimits(reading, store, list, parent, some, rowLimit)))
    }
    return rows
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, list.query))) throw error
    throw new ApiError('bad-values', `${relation.name} has an id that the database cannot read`)
  }
}

function tooLarge({ name }: NestedList): ApiError {
  return new ApiError('bad-body', `the stored records in ${name} are too large to be read together; send fewer of them`)
}
