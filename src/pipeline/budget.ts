import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import { ApiError, unavailable } from '../errors'
import { withKeysetPaging } from '../query/list-query'
import type { ListQuery } from '../query/query'
import { jsonRendererOf } from '../read/json-value'
import { sortsAsKeyset } from '../read/keyset'
import { areShort, measureOf, type RowMeasure, type ValueLimit, valueLimitFor, valueLimitOf } from '../read/measure'
import { readRaw } from '../read/select'
import { type Limits, maxRecordBytes } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import type { Resource } from '../schema/registry'
import { requireRow } from './found'
import type { ResourceRequest } from './service'

/** Rows of a page, in the order of their plan. */
export interface PageRows {
  /** By which they were read. */
  readonly plan: ListQuery
  /** Of the statement that has read them. Longer values are missing where listeners are to see the rows: they are read piece by piece. */
  readonly room: ValueLimit
  readonly rows: readonly RawRow[]
  readonly hasMore: boolean
  /** Whether it is the budget of bytes that has ended the page. */
  readonly isCut: boolean
}

/** Rows whose sizes are known. */
interface MeasuredRows extends PageRows {
  readonly room: number
}

/** How often rows are read again that have grown while they were read. */
export const readAttempts = 3

/**
 * Reads the rows of a page, one more than it may have, within the budget of bytes. The first statement leaves out long values, and
 * says how long they are; only where there are any does a second one read as many rows as the budget has room for.
 * @throws {ApiError} `record-too-large`, `unavailable`
 */
export async function readPage(
  session: DbSession,
  plan: ListQuery,
  limits: Limits,
  held: () => ResponseMemory,
): Promise<PageRows> {
  const limit = plan.limit - 1
  const room = valueLimitFor(session.dataSource, plan, plan.limit, limits.pageBytes)
  const found = await readRaw(session, plan, room)
  const hasMore = found.length > limit
  const rows = hasMore ? found.slice(0, limit) : found
  if (room === undefined || areShort(plan, rows, Math.min(room, limits.itemBytes))) {
    return { plan, room, rows, hasMore, isCut: false }
  }
  return readLong(session, plan, { plan, room, rows, hasMore, isCut: false }, limits, held)
}

/** @param first what the first statement has read, long values left out */
async function readLong(
  session: DbSession,
  plan: ListQuery,
  first: MeasuredRows,
  limits: Limits,
  held: () => ResponseMemory,
): Promise<PageRows> {
  let page = first
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const measure = measureOf(session.dataSource, page.plan, page.room)
    const shown = page.rows.map((raw) => showableSize(measure, raw))
    requireShowable(session, plan.resource, page.rows[0], shown[0], limits)
    const rows = page.rows.slice(0, countWithin(shown, limits))
    const isCut = page.isCut || rows.length < page.rows.length
    const next = isCut ? continued(session, plan) : plan
    const hasPlaces = (next.cursor === undefined) === (page.plan.cursor === undefined)
    const hasMore = page.hasMore || isCut
    if (plan.resource.lifecycle.load || (hasPlaces && rows.every(measure.isWhole))) {
      return { plan: page.plan, room: page.room, rows, hasMore, isCut }
    }
    const sizes = rows.map(measure.sizeOf)
    held().reserve(sizes.reduce((sum, size) => sum + size, 0))
    const again = { ...next, limit: sizes.length }
    const room = valueLimitOf(Math.max(...sizes))
    page = { plan: again, room, rows: await readRaw(session, again, room), hasMore, isCut }
  }
  throw growing()
}

/** Rows of which the budget has room, at least one. */
function countWithin(sizes: readonly number[], { pageBytes, itemBytes }: Limits): number {
  let sum = 0
  const end = sizes.findIndex((size, index) => {
    sum += size
    return index > 0 && (sum > pageBytes || size > itemBytes)
  })
  return end < 0 ? sizes.length : end
}

/** The links of a page that is cut are tokens, where they can be: a page of a number is found by counting whole pages. */
function continued({ dataSource }: DbSession, plan: ListQuery): ListQuery {
  return plan.cursor === undefined && sortsAsKeyset(dataSource, plan) ? withKeysetPaging(plan) : plan
}

/** Reads the row of an item. @throws {ApiError} `not-found`, `record-too-large`, `unavailable` */
export async function readItem(session: DbSession, request: ResourceRequest, limits: Limits): Promise<RawRow> {
  const { resource, held } = request
  const plan = { resource, select: 'columns', cursor: undefined, ordering: [] } as const
  let room = valueLimitFor(session.dataSource, plan, 1, limits.pageBytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const { raw } = await requireRow(request, session, 'columns', room)
    if (room === undefined || areShort(plan, [raw], Math.min(room, limits.itemBytes))) return raw
    const measure = measureOf(session.dataSource, plan, room)
    requireShowable(session, resource, raw, showableSize(measure, raw), limits)
    if (measure.isWhole(raw)) return raw
    const size = measure.sizeOf(raw)
    held().reserve(size)
    room = valueLimitOf(size)
  }
  throw growing()
}

/** Bytes of a row's shown columns; infinite where its hidden ones, which answers do not depend on otherwise, are too long to be read. */
function showableSize({ sizeOf, shownSizeOf }: RowMeasure, raw: RawRow): number {
  const shown = shownSizeOf(raw)
  return sizeOf(raw) - shown > maxRecordBytes ? Number.POSITIVE_INFINITY : shown
}

/** @throws {ApiError} `record-too-large` */
function requireShowable(
  { dataSource }: DbSession,
  resource: Resource,
  raw: RawRow | undefined,
  size = 0,
  { itemBytes }: Limits,
): void {
  if (raw === undefined || size <= itemBytes) return
  const key = resource.lifecycle.load ? undefined : jsonRendererOf(resource.key, resource, dataSource)(raw)
  const which = key === undefined ? `a ${resource.name}` : `the ${resource.name} of id ${String(key)}`
  const how = key === undefined ? '' : `; id__ne=${String(key)} leaves it out of a list`
  const what = Number.isFinite(size)
    ? `has ${size} bytes, more than the ${itemBytes} that a record may have to be shown`
    : 'has more bytes than can be read'
  const detail = `${which} ${what}${how}`
  throw new ApiError('record-too-large', detail)
}

/** Refuses a request whose rows are changed each time that they are read. */
export function growing(): ApiError {
  return unavailable('the records were changed while they were read; try again')
}
