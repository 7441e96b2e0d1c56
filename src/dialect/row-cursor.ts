import type { QueryRunner } from 'typeorm'

/** Row of the driver. The key of each column is its position in the SELECT. */
export type Row = Readonly<Record<number, unknown>>

/** Reads the rows of a SELECT in batches, so that not all of them are in memory at the same time. */
export interface RowCursor {
  /** Reads the next rows. @returns an empty array after the last row */
  readonly next: () => Promise<readonly Row[]>
  /** Ends the statement, also before the last row. The connection can then run other statements. */
  readonly close: () => Promise<void>
}

/** How a cursor reads. */
export interface CursorOptions {
  /** Maximum number of rows in a batch. */
  readonly rows: number
  /** Size of the rows after which a batch ends, in bytes. A database that knows sizes only afterwards ignores it. */
  readonly bytes: number
  /** Size of a row, in bytes. */
  readonly sizeOf: (row: Row) => number
  /** Time limit for a batch, in milliseconds; Infinity for no limit. */
  readonly batchTime: number
  /** Time limit for all batches, including the time between them, in milliseconds. */
  readonly totalTime: number
}

/**
 * Opens a cursor for a SELECT.
 * @param runner query runner of this service, in a transaction
 * @param parameters values of the placeholders, as the driver accepts them
 */
export type OpenCursor = (
  runner: QueryRunner,
  sql: string,
  parameters: unknown[],
  options: CursorOptions,
) => Promise<RowCursor>
