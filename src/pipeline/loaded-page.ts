import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { afterLoad } from '../read/after-load'
import { bytesOf, measureOf, type RowMeasure, valueLimitOf } from '../read/measure'
import { type JsonRecord, recordOfRow } from '../read/record'
import { readerOf } from '../read/row'
import { readRaw } from '../read/select'
import type { Limits } from '../request/limits'
import { countedLength, type HeldBytes } from '../response/held-bytes'
import { growing, type PageRows, readAttempts } from './budget'

/**
 * Renders the rows of a page after `@AfterLoad` and subscribers have seen them. Hidden columns, which are read for these, have no part
 * in where a page ends, so that nobody can measure them. Where they are long, the rows are read a piece at a time: one piece has at
 * most the bytes of a page, or one row.
 */
export async function renderLoaded(
  session: DbSession,
  page: PageRows,
  limits: Limits,
  held: () => HeldBytes,
): Promise<readonly JsonRecord[]> {
  const { resource } = page.plan
  const measure = measureOfPage(session, page)
  const pieces = piecesOf(page.rows, measure, limits.pageBytes)
  reserve(pieces, held)
  const records: JsonRecord[] = []
  for (const { start, rows, bytes } of pieces) {
    const plan = { ...page.plan, offset: page.plan.offset + start, limit: rows.length }
    const whole = rows.every(measure.isWhole) ? rows : await readPiece(session, plan, bytes)
    const read = whole.map(readerOf(resource.columns, session.dataSource))
    records.push(...(await afterLoad(session, resource, read)).map(recordOfRow(resource)))
  }
  return records
}

/** Rows that are in memory together. */
interface Piece {
  /** Index of its first row in the page. */
  readonly start: number
  readonly rows: RawRow[]
  bytes: number
  shownBytes: number
}

function measureOfPage({ dataSource }: DbSession, { plan, room }: PageRows): RowMeasure {
  if (room !== undefined) return measureOf(dataSource, plan, room)
  return { sizeOf: bytesOf, shownSizeOf: bytesOf, isWhole: () => true }
}

function piecesOf(rows: readonly RawRow[], { sizeOf, shownSizeOf }: RowMeasure, pageBytes: number): readonly Piece[] {
  const pieces: Piece[] = []
  for (const [start, row] of rows.entries()) {
    const bytes = sizeOf(row)
    const last = pieces.at(-1)
    const piece = last === undefined || last.bytes + bytes > pageBytes ? newPiece(pieces, start) : last
    piece.rows.push(row)
    piece.bytes += bytes
    piece.shownBytes += shownSizeOf(row)
  }
  return pieces
}

function newPiece(pieces: Piece[], start: number): Piece {
  const piece: Piece = { start, rows: [], bytes: 0, shownBytes: 0 }
  pieces.push(piece)
  return piece
}

/**
 * Reserves what is in memory while a listener is awaited: a piece, and the records of those before it.
 * @throws {ApiError} `unavailable`
 */
function reserve(pieces: readonly Piece[], held: () => HeldBytes): void {
  let most = 0
  let rendered = 0
  for (const { bytes, shownBytes } of pieces) {
    most = Math.max(most, rendered + bytes)
    rendered += shownBytes
  }
  if (most >= countedLength) held().reserve(most)
}

/** Reads rows of which values were left out. @throws {ApiError} `unavailable` */
async function readPiece(session: DbSession, plan: ListQuery, bytes: number): Promise<readonly RawRow[]> {
  let room = valueLimitOf(bytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const rows = await readRaw(session, plan, room)
    const { isWhole, sizeOf } = measureOf(session.dataSource, plan, room)
    if (rows.every(isWhole)) return rows
    room = valueLimitOf(Math.max(...rows.map(sizeOf)))
  }
  throw growing()
}
