import { setImmediate } from 'node:timers/promises'
import { toDriverParameters } from '../connection/compile'
import type { WorkKind } from '../connection/connection-shares'
import type { DbSession } from '../connection/db-session'
import { type RawRow, runForClient, runInTransaction } from '../connection/statement'
import { traced } from '../diagnostics'
import type { OpenCursor } from '../dialect/row-cursor'
import type { ListQuery } from '../query/query'
import type { Limits } from '../request/limits'
import { cursorValuesOf } from './keyset'
import { measureOf, type ValueLimit, valueLimitFor, valueLimitOf } from './measure'
import { bytesOf } from './row-bytes'
import { listStatement, readRaw } from './select'
import type { Store } from './store'

/** Rows of a walk that are in memory at the same time. */
export interface WalkedRows {
  /** Query and value limit of the statement that read the rows. */
  readonly query: ListQuery
  readonly valueLimit: ValueLimit
  readonly rows: readonly RawRow[]
}

/** Receives rows. The next ones are read when the promise resolves; if it rejects, the walk ends. */
export type ReceiveRows = (session: DbSession, walked: WalkedRows) => Promise<void>

/** Maximum number of rows in memory, and the size up to which rows are read together with the others, in bytes. */
const batchRows = 200
const batchBytes = 8 * 1024 * 1024

/**
 * Reads all rows of a list, a few at a time, in the order of its pages. With a cursor of the database they are one
 * snapshot. If all requests share one connection, each batch is a statement of its own, after the last row of the
 * previous batch, so that other requests need not wait for a slow client.
 * @param kind what the connection is counted as
 */
export function walkRows(
  session: DbSession,
  store: Store,
  query: ListQuery,
  limits: Limits,
  receive: ReceiveRows,
  kind: WorkKind,
): Promise<void> {
  const { openCursor } = store.dialect
  if (openCursor === undefined) return walkByKeyset(session, store, query, receive)
  return runInTransaction(
    session,
    (transaction) =>
      runForClient(transaction, transaction.runner, async (runner) => {
        // Where a batch ends by its size, its values need no smaller limit than that of a record.
        const valueLimit = store.dialect.limitsCursorBytes
          ? limitOfRecord(store, query, limits)
          : valueLimitFor(store, query, batchRows, batchBytes)
        const { statement, values } = listStatement(transaction, store, query, valueLimit)
        const parameters = toDriverParameters(store.dataSource, statement, values)
        const sizeOf = valueLimit === undefined ? bytesOf : measureOf(store, query, valueLimit).sizeOf
        const cursor = await openCursor(runner, statement.sql, parameters, cursorOptions(session, limits, sizeOf))
        try {
          for (;;) {
            const rows = await tracedRows(session, cursor.next)
            if (rows.length === 0) return
            await receive(transaction, { query, valueLimit, rows })
          }
        } finally {
          await cursor.close()
        }
      }),
    'REPEATABLE READ',
    kind,
  )
}

/** Value limit that leaves out only values of records that are too large to be shown. */
function limitOfRecord(store: Store, query: ListQuery, { itemBytes }: Limits): ValueLimit {
  return valueLimitFor(store, query, 1, itemBytes) === undefined ? undefined : valueLimitOf(itemBytes)
}

function cursorOptions(
  { timeLimit }: DbSession,
  { streamTime }: Limits,
  sizeOf: (row: RawRow) => number,
): Parameters<OpenCursor>[3] {
  return { rows: batchRows, bytes: batchBytes / 8, sizeOf, batchTime: timeLimit, totalTime: streamTime }
}

async function tracedRows({ trace }: DbSession, read: () => Promise<readonly RawRow[]>): Promise<readonly RawRow[]> {
  if (trace === undefined) return read()
  const { records } = await traced(trace, async () => ({ records: await read() }))
  return records
}

/** Reads pages by keyset. Records that change meanwhile may be missing, or occur twice with different values. */
async function walkByKeyset(session: DbSession, store: Store, query: ListQuery, receive: ReceiveRows): Promise<void> {
  const valueLimit = valueLimitFor(store, query, batchRows, batchBytes)
  const start = query.cursor ?? { direction: 'after', values: undefined, skip: 0, orderingId: '' }
  let page: ListQuery = { ...query, cursor: start, limit: Math.min(batchRows, query.limit) }
  for (let remaining = query.limit; remaining > 0; ) {
    const rows = await readRaw(session, store, page, valueLimit)
    if (rows.length > 0) await receive(session, { query: page, valueLimit, rows })
    if (rows.length < page.limit) return
    remaining -= rows.length
    page = { ...pageAfter(store, page, rows), limit: Math.min(batchRows, remaining) }
    // Statements of better-sqlite3 are synchronous: other requests run here.
    await setImmediate()
  }
}

/** The query of the rows after a page: after its last row that a cursor can hold, without the rows after that. */
function pageAfter(store: Store, page: ListQuery, rows: readonly RawRow[]): ListQuery {
  for (let index = rows.length - 1; index >= 0; index--) {
    const raw = rows[index]
    const values = raw && cursorValuesOf(store, page, raw, Number.POSITIVE_INFINITY)
    if (values !== undefined && page.cursor !== undefined) {
      return { ...page, cursor: { ...page.cursor, values }, offset: rows.length - 1 - index }
    }
  }
  return { ...page, offset: page.offset + rows.length }
}
