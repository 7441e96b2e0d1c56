import type { DbSession } from '../connection/db-session'
import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { afterLoad } from '../read/after-load'
import { bytesOf, measureOf, type RowMeasure, valueLimitOf } from '../read/measure'
import { type JsonRecord, recordRenderer } from '../read/record'
import { rowReaderOf } from '../read/row'
import { readRaw } from '../read/select'
import type { Limits } from '../request/limits'
import { minCountedLength, type ResponseMemory } from '../response/held-bytes'
import { growing, type PageRows, readAttempts } from './budget'

/**
 * Renders the rows of a page of a resource with `@AfterLoad` listeners or subscribers, after these have run. They also
 * receive hidden columns. The sizes of hidden columns do not affect where a page ends; otherwise clients could measure
 * them. If the rows have too many bytes to read them together, they are read in pieces: a piece has at most
 * `limits.pageBytes` bytes, or one row.
 * @throws {ApiError} `unavailable`
 */
export async function renderAfterLoad(
  session: DbSession,
  page: PageRows,
  limits: Limits,
  responseMemory: () => ResponseMemory,
): Promise<readonly JsonRecord[]> {
  const { resource } = page.query
  const measure = measureOfPage(session, page)
  const pieces = piecesOf(page.rows, measure, limits.pageBytes)
  reserve(pieces, responseMemory)
  const records: JsonRecord[] = []
  for (const { start, rows, bytes } of pieces) {
    const query = { ...page.query, offset: page.query.offset + start, limit: rows.length }
    const wholeRows = rows.every(measure.isWhole) ? rows : await readPiece(session, query, bytes)
    const loaded = wholeRows.map(rowReaderOf(resource.columns, session.dataSource))
    records.push(...(await afterLoad(session, resource, loaded)).map(recordRenderer(resource)))
  }
  return records
}

/** Rows of a page that are in memory at the same time. */
interface Piece {
  /** Index of the first row in the page. */
  readonly start: number
  readonly rows: RawRow[]
  bytes: number
  /** Size of the shown columns, in bytes. */
  shownBytes: number
}

function measureOfPage({ dataSource }: DbSession, { query, valueLimit }: PageRows): RowMeasure {
  if (valueLimit !== undefined) return measureOf(dataSource, query, valueLimit)
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
 * Reserves the memory that is in use while listeners run: a piece, and the records that were rendered before it.
 * @throws {ApiError} `unavailable`
 */
function reserve(pieces: readonly Piece[], responseMemory: () => ResponseMemory): void {
  let maxBytes = 0
  let renderedBytes = 0
  for (const { bytes, shownBytes } of pieces) {
    maxBytes = Math.max(maxBytes, renderedBytes + bytes)
    renderedBytes += shownBytes
  }
  if (maxBytes >= minCountedLength) responseMemory().reserve(maxBytes)
}

/**
 * Reads rows of a piece again, with the long values that were left out.
 * @throws {ApiError} `unavailable` if the rows grow each time that they are read
 */
async function readPiece(session: DbSession, query: ListQuery, bytes: number): Promise<readonly RawRow[]> {
  let valueLimit = valueLimitOf(bytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const rows = await readRaw(session, query, valueLimit)
    const { isWhole, sizeOf } = measureOf(session.dataSource, query, valueLimit)
    if (rows.every(isWhole)) return rows
    valueLimit = valueLimitOf(Math.max(...rows.map(sizeOf)))
  }
  throw growing()
}
