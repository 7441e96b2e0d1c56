import { ApiError } from '../errors'
import type { IncludedList } from '../query/query'
import { countIncluded, type IncludedLists, type IncludedRow, readIncluded } from '../read/included'
import { areShort, measureOf, valueLimitFor, valueLimitOf } from '../read/measure'
import { shortBytesOf } from '../read/row-bytes'
import { isCausedByQueryValue } from '../read/unreadable'
import { changedDuringRead, readAttempts } from './limited-read'
import type { PageReading } from './page-reading'

/** Context for reading the included lists of a response. */
export interface IncludeReading extends PageReading {
  /** Number of rows that the lists of the response may still have, and their size in bytes. */
  readonly left: { rows: number; bytes: number }
  /** Whether the records may be soft-deleted. Then filters do not find them: no path leads to their related records. */
  readonly readsDeleted: boolean
  /** Memory that is reserved so far for the rows and records of the response, in bytes. */
  readonly reserved: { bytes: number }
}

/** Related records in lists, and their numbers by the texts of the parents. */
interface RecordsOfLists {
  readonly included: readonly IncludedRow[]
  /** Undefined if the request does not count them. */
  readonly totals: ReadonlyMap<string, number> | undefined
}

/**
 * Reads and counts the related records in lists.
 * @throws {ApiError} `bad-query`, `unavailable`
 */
export async function readLists(reading: IncludeReading, lists: IncludedLists): Promise<RecordsOfLists> {
  const { session } = reading
  const { store, list } = lists
  const { isCounted, limit, query, path } = list
  try {
    return {
      totals: isCounted ? await countIncluded(session, lists) : undefined,
      included: limit === 0 ? [] : await readRows(reading, lists),
    }
  } catch (error) {
    if (!(await isCausedByQueryValue(error, session, store, query))) throw error
    throw new ApiError('bad-query', `the database cannot read the value of a filter on ${path.join('__')}`)
  }
}

function readRows(reading: IncludeReading, lists: IncludedLists): Promise<readonly IncludedRow[]> {
  const { list, keys } = lists
  const { left, limits, reserved, responseMemory } = reading
  const maxShown = Math.min(left.rows, Math.floor(left.bytes / shortBytesOf(list.view)))
  return readWithinLimits(reading, lists, {
    // Each list may have one row more than it shows.
    maxRows: maxShown + keys.size,
    tooMany: () => (maxShown < left.rows ? tooLargeIncluded(limits.pageBytes) : tooManyIncluded(limits.included)),
    tooLarge: (bytes) => tooLargeList(list, bytes, limits.pageBytes),
    reserve: (bytes) => responseMemory().reserve(reserved.bytes + bytes),
  })
}

/** Maximum number of related records that are read, the refusals beyond a limit, and the memory. */
export interface RowLimit {
  readonly maxRows: number
  readonly tooMany: () => ApiError
  readonly tooLarge: (bytes: number) => ApiError
  /** Reserves the memory of long values before they are read. */
  readonly reserve: (bytes: number) => void
}

/**
 * Reads the related records in lists, within the size limits. The first statement leaves out long values, as for a
 * page. A second statement reads them only if all rows together are small enough.
 * @throws {ApiError} the refusals of the limit, `unavailable`
 */
export async function readWithinLimits(
  { session, limits }: Pick<IncludeReading, 'session' | 'limits'>,
  lists: IncludedLists,
  { maxRows, tooMany, tooLarge, reserve }: RowLimit,
): Promise<readonly IncludedRow[]> {
  const { store, list, keys } = lists
  const { query } = list
  const limit = Math.min(keys.size * query.limit, maxRows + 1)
  let valueLimit = valueLimitFor(store, query, limit, limits.pageBytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const included = await readIncluded(session, lists, limit, valueLimit)
    if (included.length > maxRows) throw tooMany()
    const rows = included.map(({ raw }) => raw)
    if (valueLimit === undefined || areShort(store, query, rows, valueLimit)) return included
    const { isWhole, sizeOf, shownSizeOf } = measureOf(store, query, valueLimit)
    const bytes = rows.reduce((sum, raw) => sum + shownSizeOf(raw), 0)
    if (bytes > limits.pageBytes) throw tooLarge(bytes)
    if (rows.every(isWhole)) return included
    reserve(rows.reduce((sum, raw) => sum + sizeOf(raw), 0))
    valueLimit = valueLimitOf(Math.max(...rows.map(sizeOf)))
  }
  throw changedDuringRead()
}

function tooLargeList({ path }: IncludedList, bytes: number, max: number): ApiError {
  return new ApiError(
    'bad-query',
    `the records in ${path.join('.')} have ${bytes} bytes; at most ${max} are allowed: lower its limit, or select fields`,
  )
}

export function tooManyIncluded(max: number): ApiError {
  return new ApiError('bad-query', `the response would include more than ${max} records in lists; lower their limits`)
}

/** @param max in bytes */
export function tooLargeIncluded(max: number): ApiError {
  return new ApiError(
    'bad-query',
    `the records in lists, with the paths of further ones, have more than the ${max} bytes that are allowed; lower their ` +
      'limits, select fields, or use shorter filters',
  )
}
