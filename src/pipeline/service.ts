import type { IncomingHttpHeaders } from 'node:http'
import type { Credentials } from '../access/credentials'
import type { PasswordChecks } from '../access/password-checks'
import type { AccessRequest, Principal } from '../access/rule'
import type { DbSession } from '../connection/db-session'
import type { QueryShapeCache } from '../query/query-shape'
import type { Payload } from '../request/body'
import type { CursorTokens } from '../request/cursor'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import type { Registry, Resource } from '../schema/registry'

/** Everything that the requests of a mount share. It is built at mount. */
export interface Service {
  /** Resources by name. */
  readonly resources: Registry['resources']
  readonly limits: Limits
  readonly allowedOrigins: readonly string[]
  /**
   * Returns the principal with these credentials; undefined if they are missing or wrong.
   * @param address IP address of the client
   */
  readonly authenticate: (
    session: DbSession,
    credentials: Credentials | undefined,
    address: string,
  ) => Promise<Principal | undefined>
  readonly passwords: PasswordChecks
  /** Cached query shapes of list requests. */
  readonly queryShapes: QueryShapeCache
  readonly cursorTokens: CursorTokens
}

/** Request on a resource, before its query or body is parsed. */
export interface ResourceRequest {
  readonly resource: Resource
  readonly session: DbSession
  /** Last segment of an item path, not decoded; undefined for the collection. */
  readonly segment: string | undefined
  /** HTTP method, in upper case. */
  readonly method: string
  readonly querystring: string
  readonly headers: IncomingHttpHeaders
  /** Path of the collection: `/api/note/`. */
  readonly collection: string
  readonly context: AccessRequest['context']
  /** Reads the body. @param limit maximum size of the body, in bytes */
  readonly readPayload: (limit: number) => Promise<Payload>
  /** Memory of the response. It is created by the first call, because small responses are not counted. */
  readonly held: () => ResponseMemory
}
