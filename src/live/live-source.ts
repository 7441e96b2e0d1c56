import type { WaitingClient } from '../connection/db-session'
import { ApiError } from '../errors'
import type { PassingTables } from '../read/related-tables'
import type { Json } from '../value/value-type'

/** Receives a record as JSON. */
export type ReceiveRecord = (id: string, json: string) => void

/** The records of a live list, as all its subscribers see them. */
export interface LiveSource {
  /** Two sources with the same key have the same records with the same fields. */
  readonly key: string
  /** Path of the table of the records. */
  readonly table: string
  /** Tables that filters, row scopes and included records depend on. */
  readonly relatedTables: ReadonlySet<string>
  /** Tables whose changes may change rows of the tables above. */
  readonly passingTables: PassingTables
  /** Whether it is an item, so that there is one record at most. */
  readonly isItem: boolean
  /** Maximum number of records. */
  readonly maxRecords: number
  /** Maximum size of all records, in bytes. */
  readonly maxBytes: number
  /** Whether the database ignores case or accents in keys. */
  readonly comparesKeysLoosely: boolean
  /** Returns the key of a record as records show it. */
  readonly idOf: (id: string) => Json
  /**
   * Reads the records with these keys that are in the list now, in any order. Without keys, all of them.
   * @param receive receives each record as JSON
   * @param client is closed when nobody waits for the read any more
   * @throws {ApiError} `bad-query` if they are too many; `unavailable` if the client is closed
   */
  readonly read: (ids: readonly string[] | undefined, receive: ReceiveRecord, client: WaitingClient) => Promise<void>
}

/** Creates the refusal of a list that is too long to be live. */
export function tooManyRecords(maxRecords: number): ApiError {
  return new ApiError(
    'bad-query',
    `a live list may have at most ${maxRecords} records (limits.liveRecords); add filters`,
  )
}

/** Creates the refusal of a list whose records are too large to be sent together. */
export function tooManyBytes(maxBytes: number): ApiError {
  return new ApiError(
    'bad-query',
    `a live list may have at most ${maxBytes} bytes (limits.pageBytes); add filters, or select fields`,
  )
}
