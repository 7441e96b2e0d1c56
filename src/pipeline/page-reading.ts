import type { DbSession } from '../connection/db-session'
import type { JsonRecord } from '../read/record'
import type { Store } from '../read/store'
import type { CursorTokens } from '../request/cursor'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'

/** Context for reading a page: all its statements and links share it. */
export interface PageReading {
  /** Session of the replica that is read, or of the primary. */
  readonly session: DbSession
  readonly store: Store
  readonly limits: Limits
  readonly cursorTokens: CursorTokens
  readonly responseMemory: () => ResponseMemory
  /** Returns the path of the list of a resource: `/api/note/`. */
  readonly pathOf: (resource: string) => string
  /** What the included lists of the response have so far. Default: nothing, as if the page were the whole response. */
  readonly included?: IncludedSize
  /** Returns what is shown of a record with included records. Default: the record itself. */
  readonly toShown?: (record: JsonRecord) => JsonRecord
}

/** Number of records in the included lists of a response, and their size in bytes. */
export interface IncludedSize {
  records: number
  bytes: number
}
