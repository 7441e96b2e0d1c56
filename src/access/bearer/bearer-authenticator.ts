import { emitError } from '../../emit-error'
import { type AccountLookup, principalOf } from '../account'
import {
  type Authenticator,
  type AuthenticatorSite,
  missingUsers,
  type Verification,
  type Verify,
  verificationOf,
} from '../authenticator'
import { type BearerOptions, checkBearerOptions, type TokenClaims } from './token-options'
import { buildTokenVerifier, type VerifyToken } from './token-verifier'

/** Greatest length of a token, in characters. By default Node.js refuses longer headers with 431. */
const maxTokenLength = 16_384

/**
 * Creates the authenticator for JSON Web Tokens: `Authorization: Bearer <token>` (RFC 6750, RFC 7519).
 * @example
 * bearer({
 *   jwks: 'https://example.eu.auth0.com/.well-known/jwks.json',
 *   issuer: 'https://example.eu.auth0.com/',
 *   audience: 'https://api.example.org',
 *   algorithms: ['RS256'],
 *   user: { claim: 'sub', property: 'subject' },
 * })
 * @throws {TypeError} for invalid options, with all mistakes
 */
export function bearer(options: BearerOptions): Authenticator {
  const verifyToken = buildTokenVerifier(checkBearerOptions(options))
  const { realm, user, principal: principalFor } = options
  const challenge = realm === undefined ? 'Bearer' : `Bearer realm="${realm}"`
  const wrongToken = `${challenge}${realm === undefined ? '' : ','} error="invalid_token"`
  return {
    scheme: 'Bearer',
    challenge,
    name: 'bearer',
    securityScheme: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    needsUsers: user !== undefined,
    check: ({ hasUsers, checkUserProperty }, report) => {
      if (user === undefined) return
      if (hasUsers) checkUserProperty(user.property, report)
      else report(missingUsers('bearer()'))
    },
    prepare: (site) => {
      const identify = user === undefined ? identifyBy(principalFor) : identifyUser(user, site)
      return buildVerify(verifyToken, identify, wrongToken)
    },
  }
}

/** Finds the principal of a verified token. */
type Identify<Session> = (session: Session, claims: TokenClaims) => Promise<Verification>

/** @param challenge of the response to a wrong token */
function buildVerify<Session>(
  verifyToken: VerifyToken,
  identify: Identify<Session>,
  challenge: string,
): Verify<Session> {
  return async (session, authorization, context) => {
    const token = parseToken(authorization)
    if (token === undefined) return { reason: 'the header has no token, or one that is too long', challenge }
    const result = await verifyToken(token, (error) => void emitError(context.app, error, context))
    const verification = 'claims' in result ? await identify(session, result.claims) : result
    return 'reason' in verification ? { ...verification, challenge } : verification
  }
}

/** The token of a header; undefined if it is missing, too long or of another form. */
function parseToken(header: string): string | undefined {
  const [, token = ''] = /^bearer +([\w.-]+) *$/i.exec(header) ?? []
  return token === '' || token.length > maxTokenLength ? undefined : token
}

function identifyBy(principalFor: BearerOptions['principal']): Identify<unknown> {
  return async (_, claims) => verificationOf('principal() of bearer()', await principalFor?.(claims))
}

function identifyUser<Session>(
  { claim, property }: NonNullable<BearerOptions['user']>,
  { accountsBy }: AuthenticatorSite<Session>,
): Identify<Session> {
  const findAccounts: AccountLookup<Session> = accountsBy(property) ?? (async () => [])
  return async (session, claims) => {
    const value = textOf(claims[claim])
    if (value === undefined) return { reason: `the claim "${claim}" of the token is neither a text nor an integer` }
    // The database may compare texts without regard to case, and convert numbers.
    const account = (await findAccounts(session, value)).find(({ username }) => String(username) === value)
    if (account === undefined) return { reason: `no user has the value of the claim "${claim}"` }
    return account.active ? { principal: principalOf(account) } : { reason: 'the user is not active' }
  }
}

/** A claim as text; undefined for values that no user can have. No database stores U+0000 in each of its texts. */
function textOf(claim: unknown): string | undefined {
  if (Number.isSafeInteger(claim)) return String(claim)
  return typeof claim === 'string' && claim !== '' && !claim.includes('\0') ? claim : undefined
}
