import { ownRefusal } from '../errors'
import type { Account } from './account'
import {
  type Authenticator,
  type AuthenticatorSite,
  type CredentialAction,
  type Rejection,
  schemeOf,
  type Verification,
  type Verified,
} from './authenticator'
import { parseCredentials } from './credentials'
import type { AccessRequest, Principal } from './rule'

/** Verifies the credentials of requests with the authenticators of a mount. */
export type VerifyCredentials<Session> = (session: Session, context: AccessRequest['context']) => Promise<Verification>

/**
 * Prepares the authenticators of a mount.
 * @returns a function that verifies the credentials of a request by the authenticator of their scheme
 */
export function prepareAuthenticators<Session>(
  authenticators: readonly Authenticator[],
  site: AuthenticatorSite<Session>,
): VerifyCredentials<Session> {
  const byScheme = new Map(authenticators.map(({ scheme, prepare }) => [scheme.toLowerCase(), prepare(site)] as const))
  const schemes = authenticators.map(({ scheme }) => scheme).join(', ')
  return async (session, context) => {
    const { authorization } = context.req.headers
    if (authorization === undefined) return { reason: 'the request has no credentials' }
    // Node.js uses the first of several headers; a proxy may use another one.
    if (countHeaders(context, 'authorization') > 1) return { reason: 'the request has several Authorization headers' }
    const verify = byScheme.get(schemeOf(authorization) ?? '')
    // The reason does not contain the scheme of the request: if a client sends a secret without a scheme, the secret is
    // in its place.
    if (verify === undefined)
      return { reason: `the scheme of the credentials is not configured; configured: ${schemes}` }
    return verify(session, authorization, context).catch((error: unknown) => {
      throw ownRefusal(error)
    })
  }
}

function countHeaders({ req: { rawHeaders } }: AccessRequest['context'], name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length
}

const readMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether a method only reads: the safe methods of RFC 9110 except TRACE. */
export function isReadMethod(method: string): boolean {
  return readMethods.includes(method)
}

function actionOf(method: string): CredentialAction {
  if (isReadMethod(method)) return 'read'
  if (method === 'POST') return 'create'
  return method === 'DELETE' ? 'delete' : 'update'
}

function isPermitted({ permits }: Verified, resource: string, method: string): boolean {
  return permits === undefined || permits(resource, actionOf(method))
}

/** Authentication of one request. Its credentials are verified when they are first needed, and at most once. */
export class RequestAuthentication<Session> {
  #verification: Promise<Verification> | undefined
  #rejection: Rejection | undefined
  /**
   * Whether the response may contain records of a related resource that a rule shows only to a user, although the resource
   * of the request is public.
   */
  hasPrivateRecords = false

  /** @param credentialChanges `LiveLists.credentialChanges` before the authentication; undefined without live lists */
  constructor(
    readonly verifyCredentials: VerifyCredentials<Session>,
    readonly session: Session,
    readonly context: AccessRequest['context'],
    readonly credentialChanges?: number,
  ) {}

  /**
   * The authentication of one of several operations of the request, whose credentials are verified once for all.
   * @param context Koa's context with the method and path of the operation, for its access rule
   */
  forOperation(context: AccessRequest['context']): RequestAuthentication<Session> {
    return new RequestAuthentication(() => this.#verify(), this.session, context)
  }

  /** Whether the request has credentials, of any scheme. */
  get hasCredentials(): boolean {
    return this.context.req.headers.authorization !== undefined
  }

  /** Why the credentials were rejected; undefined if they have not been verified yet, or if they are sufficient. */
  get rejection(): Rejection | undefined {
    return this.#rejection
  }

  /** The principal to whom the credentials belong; undefined if they are missing or wrong. */
  async principal(): Promise<Principal | undefined> {
    const verification = await this.#verify()
    return 'principal' in verification ? verification.principal : undefined
  }

  /** The stored user, if the credentials permit changing the user's password. */
  async account(): Promise<Account | undefined> {
    const verification = await this.#verify()
    return 'principal' in verification ? verification.account : undefined
  }

  /**
   * Builds the argument of an access rule.
   * @param resource name of the resource that the rule belongs to; undefined for a page
   * @param method HTTP method in upper case. Default: that of the request
   */
  accessRequest(resource: string | undefined, method = this.context.req.method ?? ''): AccessRequest {
    return {
      method,
      reads: isReadMethod(method),
      credentials: parseCredentials(this.context.req.headers.authorization),
      authenticate: () => this.#permittedPrincipal(resource, method),
      context: this.context,
    }
  }

  /**
   * Whether the credentials permit the action of the method on a resource. Without correct credentials this is so: the access rule has
   * then identified the user in another way, for example by a session.
   */
  async permits(resource: string, method: string): Promise<boolean> {
    const verification = await this.#verify()
    return !('principal' in verification) || isPermitted(verification, resource, method)
  }

  /** The principal, if the credentials are correct and permit the action of the method on the resource. */
  async #permittedPrincipal(resource: string | undefined, method: string): Promise<Principal | undefined> {
    const verification = await this.#verify()
    if (!('principal' in verification)) return undefined
    if (resource === undefined || isPermitted(verification, resource, method)) return verification.principal
    this.#rejection = { reason: `the credentials do not permit to ${actionOf(method)} ${resource}` }
    return undefined
  }

  async #verify(): Promise<Verification> {
    this.#verification ??= this.verifyCredentials(this.session, this.context)
    const verification = await this.#verification
    if ('reason' in verification) this.#rejection = verification
    return verification
  }
}
