import { checkOptionNames, isUndefined, undefinedOption } from '../option-mistakes'
import { type Authenticator, type SecurityScheme, schemeOf, verificationOf } from './authenticator'
import type { AccessRequest, Principal } from './rule'

/** Options of {@link custom}. */
export interface CustomAuthenticatorOptions {
  /** The scheme, with which the header `Authorization` begins: `Session`. Upper and lower case are equal. */
  readonly scheme: string
  /**
   * Verifies credentials: the part of the header after the scheme. Returns the principal, or null or undefined to reject
   * them. Errors are faults (500).
   */
  readonly authenticate: (
    credentials: string,
    context: AccessRequest['context'],
  ) => Principal | null | undefined | Promise<Principal | null | undefined>
  /** Value of `WWW-Authenticate` in a response with status 401. Default: the scheme. */
  readonly challenge?: string
  /** Security Scheme Object of the OpenAPI document. Default: `{ type: 'http', scheme }`. */
  readonly securityScheme?: SecurityScheme
}

const optionNames: Readonly<Record<keyof CustomAuthenticatorOptions, true>> = {
  scheme: true,
  authenticate: true,
  challenge: true,
  securityScheme: true,
}

/**
 * Creates an authenticator of the application for a scheme of the header `Authorization`.
 * @example
 * custom({ scheme: 'Session', authenticate: (id) => sessions.find(id) })
 * @throws {TypeError} for an invalid option
 */
export function custom(options: CustomAuthenticatorOptions): Authenticator {
  checkOptionNames(Object(options), optionNames, (mistake) => {
    throw new TypeError(`custom() has an ${mistake}`)
  })
  for (const name of ['scheme', 'authenticate']) {
    if (isUndefined(Object(options), name)) {
      throw new TypeError(`custom(): ${undefinedOption(name, 'a missing environment variable or a circular import')}`)
    }
  }
  const { scheme, authenticate, challenge = scheme, securityScheme }: CustomAuthenticatorOptions = Object(options)
  if (typeof scheme !== 'string' || schemeOf(scheme) !== scheme.toLowerCase()) {
    throw new TypeError('custom() needs a "scheme" without spaces, such as "Session"')
  }
  if (typeof authenticate !== 'function') {
    throw new TypeError('custom() needs a function "authenticate" that returns the principal or null')
  }
  if (typeof challenge !== 'string' || schemeOf(challenge) === undefined || !/^[ -~]+$/.test(challenge)) {
    throw new TypeError('"challenge" of custom() must be ASCII text that begins with a scheme: Session realm="API"')
  }
  const name = scheme.toLowerCase()
  return {
    scheme,
    challenge,
    name,
    securityScheme: securityScheme ?? { type: 'http', scheme: name },
    needsUsers: false,
    prepare: () => async (_, authorization, context) => {
      const credentials = authorization.slice(scheme.length).trim()
      return verificationOf(`authenticate() of the scheme ${scheme}`, await authenticate(credentials, context))
    },
  }
}
