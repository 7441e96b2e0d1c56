import { parseCredentials } from './credentials'
import { isReadMethod } from './require-principal'
import type { AccessRequest, Principal } from './rule'

/** HTTP authentication scheme, as 401 responses and the OpenAPI document describe it. */
export interface AuthenticationScheme {
  /** Name of the security scheme in the OpenAPI document. */
  readonly name: string
  /** Value of `WWW-Authenticate` in a response with status 401 (RFC 9110). */
  readonly challenge: string
  /** Security Scheme Object of the OpenAPI document. */
  readonly securityScheme: { readonly type: string; readonly scheme: string }
}

/**
 * Verifies credentials. The access rule then decides what the principal may do. The type of database sessions is a
 * parameter, because `access/` does not import `connection/`.
 */
export interface Authenticator<Session> extends AuthenticationScheme {
  /**
   * Verifies the credentials of a request.
   * @param authorization header of the request
   * @param address IP address of the client
   * @returns the user whose credentials these are; undefined if they are missing or wrong
   */
  readonly authenticate: (
    session: Session,
    authorization: string | undefined,
    address: string,
  ) => Promise<Principal | undefined>
}

/** HTTP Basic (RFC 7617), the only scheme: 401 responses and the OpenAPI document use this constant. */
export const basicScheme: AuthenticationScheme = {
  name: 'basic',
  challenge: 'Basic realm="Login Required"',
  securityScheme: { type: 'http', scheme: 'basic' },
}

/** Builds the argument of an access rule. */
export function toAccessRequest<Session>(
  { authenticate }: Authenticator<Session>,
  session: Session,
  context: AccessRequest['context'],
): AccessRequest {
  const { authorization } = context.req.headers
  const method = context.req.method ?? ''
  // Several access rules may call it for one request, and verifying a password takes long.
  let verified: ReturnType<typeof authenticate> | undefined
  return {
    method,
    reads: isReadMethod(method),
    credentials: parseCredentials(authorization),
    authenticate: () => (verified ??= authenticate(session, authorization, context.ip)),
    context,
  }
}
