import type { DbSession } from '../connection/db-session'
import type { Store } from '../read/store'
import type { CursorTokens } from '../request/cursor'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'

/** What reading a page needs besides its query: the same for all statements and links of the page. */
export interface PageReading {
  /** Session of the replica that is read, or of the primary. */
  readonly session: DbSession
  readonly store: Store
  readonly limits: Limits
  readonly cursorTokens: CursorTokens
  readonly responseMemory: () => ResponseMemory
  /** Returns the path of the list of a resource: `/api/note/`. */
  readonly pathOf: (resource: string) => string
}
