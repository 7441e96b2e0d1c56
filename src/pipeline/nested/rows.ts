import { ApiError } from '../../errors'
import { nestedList } from '../../query/nested-query'
import type { IncludedRow } from '../../read/included'
import { type NestedLists, splitParents } from '../../read/nested-keys'
import { isCausedByQueryValue } from '../../read/unreadable'
import type { Limits } from '../../request/limits'
import type { NestedRelation } from '../../schema/resource-view'
import { type RowLimit, readWithinLimits } from '../included-reading'
import type { PermittedRequest } from '../service'

/**
 * Reads the related records of several parents that a body names by their keys, as far as the principal may see them.
 * @param keys keys of the related records
 * @throws {ApiError} `bad-body` if the records are too large, `bad-values` if the database cannot read a key
 */
export async function readNamedRecords(
  { session, responseMemory }: PermittedRequest,
  limits: Limits,
  { store, relation, parent, keys: parents }: NestedLists,
  keys: readonly unknown[],
): Promise<readonly IncludedRow[]> {
  if (keys.length === 0) return []
  const list = nestedList(parent.view, relation, { select: 'entityColumns', keys, limit: limits.nested + 1 })
  const rowLimit: RowLimit = {
    maxRows: keys.length,
    tooMany: () => tooLarge(relation),
    tooLarge: () => tooLarge(relation),
    reserve: (bytes) => responseMemory().reserve(bytes),
  }
  const reading = { session, limits }
  const rows: IncludedRow[] = []
  try {
    for (const parentKeys of splitParents(parents, parent)) {
      rows.push(...(await readWithinLimits(reading, { store, list, parent, keys: parentKeys }, rowLimit)))
    }
    return rows
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, list.query))) throw error
    throw new ApiError('bad-values', `${relation.name} has an id that the database cannot read`)
  }
}

function tooLarge({ name }: NestedRelation): ApiError {
  return new ApiError('bad-body', `the stored records in ${name} are too large to be read together; send fewer of them`)
}
