import type { DbSession } from '../connection/db-session'
import { mapWithPauses } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import { afterLoad } from '../read/after-load'
import { buildValueReader } from '../read/json-value'
import { areShort, measureOf, valueLimitOf } from '../read/measure'
import type { JsonRecord } from '../read/record'
import { readRawItem } from '../read/select'
import type { Store } from '../read/store'
import type { WalkedRows } from '../read/walk'
import type { Limits } from '../request/limits'
import type { DeletedRecords } from '../request/list-request'
import { changedDuringRead, readAttempts, requireRecordSize, responseSizeOf } from './limited-read'
import { renderGroups } from './render-records'
import type { PermittedRequest } from './service'

/**
 * Renders the rows of a walk, a few at a time if this takes long. Records whose long values the statement has left out are
 * read one by one, so that only one of them is in memory at the same time.
 * @throws {ApiError} `record-too-large`, `unavailable`
 */
export async function* renderWalkedRows(
  request: PermittedRequest,
  limits: Limits,
  session: DbSession,
  store: Store,
  { query, valueLimit, rows }: WalkedRows,
): AsyncGenerator<readonly JsonRecord[]> {
  if (valueLimit === undefined || areShort(store, query, rows, Math.min(valueLimit, limits.itemBytes))) {
    yield* renderRows(request.session, store, rows)
    return
  }
  const measure = measureOf(store, query, valueLimit)
  let whole: RawRow[] = []
  for (const raw of rows) {
    requireRecordSize(store, raw, responseSizeOf(measure, raw), limits)
    if (measure.isWhole(raw)) {
      whole.push(raw)
      continue
    }
    if (whole.length > 0) yield* renderRows(request.session, store, whole)
    whole = []
    const deleted = query.readsDeleted ? 'with' : undefined
    const long = await readLongRow(request, limits, session, store, raw, measure.sizeOf(raw), deleted)
    if (long !== undefined) yield* renderRows(request.session, store, [long])
  }
  if (whole.length > 0) yield* renderRows(request.session, store, whole)
}

/** Renders rows as records, after `@AfterLoad` listeners if there are any. */
async function* renderRows(
  session: DbSession,
  { view, selected, rawRenderer, rowRenderer }: Store,
  rows: readonly RawRow[],
): AsyncGenerator<readonly JsonRecord[]> {
  if (!view.lifecycle.load) yield* renderGroups(rows, rawRenderer.toRecord)
  else {
    const loaded = await afterLoad(session, view, await mapWithPauses(session, rows, selected.columns.readRow))
    yield* renderGroups(loaded, rowRenderer.toRecord)
  }
}

/**
 * Reads a row again, with its long values.
 * @param deleted which soft-deleted records the walk reads
 * @returns undefined if the record was deleted, or is no longer visible
 */
async function readLongRow(
  { responseMemory }: PermittedRequest,
  limits: Limits,
  session: DbSession,
  store: Store,
  raw: RawRow,
  size: number,
  deleted: DeletedRecords | undefined,
): Promise<RawRow | undefined> {
  const key = buildValueReader(store.view.key, store.view, store.dataSource)(raw)
  const query = { select: 'columns', cursor: undefined, ordering: [], included: [] } as const
  let bytes = size
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    responseMemory().reserve(bytes)
    const valueLimit = valueLimitOf(bytes)
    const row = await readRawItem(session, store, key, 'columns', { valueLimit, deleted })
    if (row === undefined) return undefined
    const measure = measureOf(store, query, valueLimit)
    requireRecordSize(store, row, responseSizeOf(measure, row), limits)
    if (measure.isWhole(row)) return row
    bytes = measure.sizeOf(row)
  }
  throw changedDuringRead()
}
