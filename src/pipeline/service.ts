import type { IncomingHttpHeaders } from 'node:http'
import type { Account, Authenticate } from '../access/account'
import type { PasswordChecks } from '../access/password-checks'
import type { AccessRequest } from '../access/rule'
import type { Session } from '../query/connection'
import type { Payload } from '../request/body'
import type { Limits } from '../request/limits'
import type { Resource } from '../schema/registry'

/** What requests are answered from: built at mount, never written to. */
export interface Service {
  readonly limits: Limits
  readonly allowedOrigins: readonly string[]
  readonly authenticate: Authenticate
  readonly passwords: PasswordChecks
  /** Reads the site's users of a name; undefined on a site without users. */
  readonly lookup: ((session: Session, username: string) => Promise<readonly Account[]>) | undefined
}

/** One request on a resource, with what is known before anything is read. */
export interface ResourceRequest {
  readonly resource: Resource
  readonly session: Session
  /** The last segment of an item path, undecoded; undefined for the collection. */
  readonly segment: string | undefined
  /** Upper case. */
  readonly method: string
  readonly querystring: string
  readonly headers: IncomingHttpHeaders
  /** The host that the request was sent to, with its port. */
  readonly host: string
  /** The collection's own path: `/api/note/`. */
  readonly collection: string
  readonly context: AccessRequest['context']
  /** @param limit bytes that it may have */
  readonly readPayload: (limit: number) => Promise<Payload>
}
