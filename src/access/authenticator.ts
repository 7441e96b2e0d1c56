import type { Report } from '../errors'
import type { JsonSchema } from '../value/value-type'
import type { Account, AccountLookup } from './account'
import type { ApiKeyLookup } from './api-keys/api-key-lookup'
import type { PasswordChecks } from './passwords/password-checks'
import { type AccessRequest, isUserId, type Principal } from './rule'

/** Actions that credentials can permit separately. */
export type CredentialAction = 'read' | 'create' | 'update' | 'delete'

/** Result of verifying correct credentials. */
export interface Verified {
  readonly principal: Principal
  /** Whether the credentials permit an action on a resource. Default: they permit what the principal may do. */
  readonly permits?: (resource: string, action: CredentialAction) => boolean
  /**
   * The stored user, if the credentials permit changing the user's password. Default: they do not, as for API keys, with
   * which a leaked key could lock out the user.
   */
  readonly account?: Account
}

/** Result of verifying wrong credentials. */
export interface Rejection {
  /** Why the credentials are wrong, for the log of the application. It contains no values of the request. */
  readonly reason: string
  /** Challenge of the response, with details (RFC 6750). Default: the challenge of the authenticator. */
  readonly challenge?: string
}

export type Verification = Verified | Rejection

/**
 * Verifies the credentials of a request. Wrong credentials are a {@link Rejection}; errors are faults of the server.
 * @param authorization the header `Authorization`; it begins with the scheme of the authenticator
 */
export type Verify<Session> = (
  session: Session,
  authorization: string,
  context: AccessRequest['context'],
) => Promise<Verification>

/**
 * What authenticators use of a mount. The type of database sessions is a parameter, because `access/` does not import
 * `connection/`.
 */
export interface AuthenticatorSite<Session> {
  /**
   * Builds the lookup of users.
   * @param property the property by which they are found, which `check` has checked. Default: the user name
   * @returns undefined without a user entity
   */
  readonly accountsBy: (property?: string) => AccountLookup<Session> | undefined
  readonly passwords: PasswordChecks
  /**
   * Returns the API keys of an entity.
   * @param entity the class; undefined for the only entity with `@ApiKeys`
   */
  readonly apiKeysOf: (entity: object | undefined) => ApiKeyLookup<Session> | undefined
}

/** What is known of a mount when its authenticators are checked. */
export interface MountedEntities {
  /** Whether there is an entity with `@UserAccount`. */
  readonly hasUsers: boolean
  /** Reports that users cannot be found by a property, if that is so. */
  readonly checkUserProperty: (property: string, report: Report) => void
  /** The classes with `@ApiKeys`. */
  readonly apiKeyEntities: readonly { readonly name: string }[]
}

/** Security Scheme Object of the OpenAPI document. */
export interface SecurityScheme extends JsonSchema {
  readonly type: 'http' | 'apiKey' | 'oauth2' | 'openIdConnect'
}

/**
 * Verifies the credentials of one HTTP authentication scheme (RFC 9110). `basic()`, `bearer()`, `apiKeys()` and `custom()`
 * create authenticators. They find out who sends a request; the access rules decide what the principal may do.
 */
export interface Authenticator {
  /** The scheme, with which the header `Authorization` begins. Upper and lower case are equal. */
  readonly scheme: string
  /** Value of `WWW-Authenticate` in a response with status 401. */
  readonly challenge: string
  /** Name of the security scheme in the OpenAPI document. */
  readonly name: string
  readonly securityScheme: SecurityScheme
  /** Whether the principals are users of the entity with `@UserAccount`. */
  readonly needsUsers: boolean
  /** Reports mistakes that only the mount shows (specification: Checks at mount). */
  readonly check?: (entities: MountedEntities, report: Report) => void
  /** Prepares the authenticator for a mount. */
  readonly prepare: <Session>(site: AuthenticatorSite<Session>) => Verify<Session>
}

/** The mistake that there is no user entity. @param what the part of the configuration that needs one */
export function missingUsers(what: string): string {
  return `${what} needs users; put @UserAccount() on their entity or set the option "users"`
}

/**
 * Converts what a function of the application returns for credentials: the principal, or null or undefined to reject them.
 * @param title the function in messages, such as `principal() of bearer()`
 * @throws {TypeError} if the principal has no id: a mistake of the application
 */
export function verificationOf(title: string, principal: Principal | null | undefined): Verification {
  if (!principal) return { reason: `${title} has rejected the credentials` }
  if (!isUserId(principal.id)) {
    throw new TypeError(`${title} must return null, or { id } with the id of a user (a string or a number)`)
  }
  return { principal }
}

/** The scheme at the start of a header or a challenge, in lower case; undefined for text that has none. */
export function schemeOf(text: string): string | undefined {
  return /^([!#$%&'*+.^_`|~\w-]+)(?: |$)/.exec(text)?.[1]?.toLowerCase()
}
