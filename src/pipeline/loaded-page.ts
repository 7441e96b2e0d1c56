import { mapWithPauses } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { afterLoad } from '../read/after-load'
import { measureOf, type RowMeasure, valueLimitOf } from '../read/measure'
import type { JsonRecord } from '../read/record'
import { bytesOf } from '../read/row-bytes'
import { readRaw } from '../read/select'
import type { Store } from '../read/store'
import { minCountedLength, type ResponseMemory } from '../response/held-bytes'
import { renderIncluding } from './include-records'
import { changedDuringRead, type PageRows, readAttempts } from './limited-read'
import type { PageReading } from './page-reading'
import { renderRecords, toText } from './render-records'

/**
 * Calls `@AfterLoad` listeners and subscribers for the rows of a page, and renders the records. Listeners also
 * receive hidden columns. The sizes of hidden columns do not affect where a page ends; otherwise clients could
 * measure them. If the rows have too many bytes to read them together, they are read in pieces: a piece has at most
 * `limits.pageBytes` bytes, or one row.
 * @returns the members of a JSON array, separated by commas
 * @throws {ApiError} `unavailable`
 */
export async function renderLoadedPage(context: PageReading, page: PageRows): Promise<string> {
  // All pieces share the limits on included records: the sizes of hidden columns must not decide how many there may be.
  const reading = { ...context, included: context.included ?? { records: 0, bytes: 0 } }
  const { store, limits, responseMemory } = reading
  const measure = measureOfPage(store, page)
  const pieces = piecesOf(page.rows, measure, limits.pageBytes)
  reserve(pieces, responseMemory)
  const texts: string[] = []
  let renderedBytes = 0
  for (const { start, rows, bytes } of pieces) {
    const query = { ...page.query, offset: page.query.offset + start, limit: rows.length }
    const wholeRows = rows.every(measure.isWhole) ? rows : await readPiece(reading, query, bytes)
    const text = toText(await renderPiece(reading, query, wholeRows, bytes, renderedBytes))
    texts.push(text)
    renderedBytes += Buffer.byteLength(text)
    responseMemory().reserve(renderedBytes)
  }
  return texts.join()
}

/**
 * @param rowBytes size of the rows, in bytes
 * @param renderedBytes size of the text of the earlier pieces, in bytes
 */
async function renderPiece(
  reading: PageReading,
  query: ListQuery,
  rows: readonly RawRow[],
  rowBytes: number,
  renderedBytes: number,
): Promise<readonly JsonRecord[] | string> {
  const { session, store, responseMemory } = reading
  const { view, selected, rowRenderer } = store
  if (query.inclusion !== undefined) return renderIncluding(reading, query, query.inclusion, rows, renderedBytes)
  const loaded = await afterLoad(session, view, await mapWithPauses(session, rows, selected.columns.readRow))
  return renderRecords(session, loaded, rowRenderer.toRecord, (textBytes) =>
    responseMemory().reserve(rowBytes + renderedBytes + textBytes),
  )
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

function measureOfPage(store: Store, { query, valueLimit }: PageRows): RowMeasure {
  if (valueLimit !== undefined) return measureOf(store, query, valueLimit)
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
async function readPiece({ session, store }: PageReading, query: ListQuery, bytes: number): Promise<readonly RawRow[]> {
  let valueLimit = valueLimitOf(bytes)
  for (let attempt = 0; attempt < readAttempts; attempt++) {
    const rows = await readRaw(session, store, query, valueLimit)
    const { isWhole, sizeOf } = measureOf(store, query, valueLimit)
    if (rows.every(isWhole)) return rows
    valueLimit = valueLimitOf(Math.max(...rows.map(sizeOf)))
  }
  throw changedDuringRead()
}
