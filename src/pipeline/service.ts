import type { IncomingHttpHeaders } from 'node:http'
import type { Credentials } from '../access/credentials'
import type { PasswordChecks } from '../access/password-checks'
import type { AccessRequest, Principal } from '../access/rule'
import type { DbSession } from '../connection/db-session'
import type { QueryShapeCache } from '../query/query-shape'
import type { Payload } from '../request/body'
import type { CursorTokens } from '../request/cursor'
import type { Limits } from '../request/limits'
import type { HeldBytes } from '../response/held-bytes'
import type { Registry, Resource } from '../schema/registry'

/** What requests are answered from: built at mount, never written to. */
export interface Service {
  /** By name. */
  readonly resources: Registry['resources']
  readonly limits: Limits
  readonly allowedOrigins: readonly string[]
  /** Who sends these credentials from this address; undefined for nobody. */
  readonly authenticate: (
    session: DbSession,
    credentials: Credentials | undefined,
    address: string,
  ) => Promise<Principal | undefined>
  readonly passwords: PasswordChecks
  /** Names of list requests that were looked up before. */
  readonly queryShapes: QueryShapeCache
  /** Of keyset paging. */
  readonly cursorTokens: CursorTokens
}

/** One request on a resource, with what is known before anything is read. */
export interface ResourceRequest {
  readonly resource: Resource
  readonly session: DbSession
  /** The last segment of an item path, undecoded; undefined for the collection. */
  readonly segment: string | undefined
  /** Upper case. */
  readonly method: string
  readonly querystring: string
  readonly headers: IncomingHttpHeaders
  /** The collection's own path: `/api/note/`. */
  readonly collection: string
  readonly context: AccessRequest['context']
  /** @param limit bytes that it may have */
  readonly readPayload: (limit: number) => Promise<Payload>
  /** The memory of its response; most have none that counts, and make no use of it. */
  readonly held: () => HeldBytes
}
