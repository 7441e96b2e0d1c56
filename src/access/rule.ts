import type { Context } from 'koa'
import { checkOptionNames } from '../option-mistakes'
import { renderBigInt } from '../value/number'
import type { Credentials } from './credentials'

/**
 * The user who sends a request. An application declares further properties, which `@UserAccount({ principal })` or its own
 * access rule sets:
 * @example
 * declare module 'typeorm-resources' {
 *   interface Principal { readonly company: number }
 * }
 */
export interface Principal {
  /** Key of the user's record; null for an anonymous request. */
  readonly id: string | number | null
  /** Whether the user is an administrator: the value of the property that `@UserAccount({ admin })` names. */
  readonly admin?: boolean
}

/**
 * Whether a value can be the id of a user: a string or a number. Other values, such as objects and bytes, have the same text for different
 * users, whose writes with the same `Idempotency-Key` would be taken for repetitions.
 */
export function isUserId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'bigint' || Number.isFinite(id)
}

/** The id of a user in JSON. The transformer of a key may return a `BigInt`. */
export function jsonOfId(id: Principal['id']): Principal['id'] {
  const value: unknown = id
  return typeof value === 'bigint' ? renderBigInt(value) : id
}

/** The principal of an anonymous request. */
export const anonymous: Principal = Object.freeze({ id: null })

/** The argument of an access rule. The rule is called before the body or a record is read, and again after a slow body. */
export interface AccessRequest {
  /** HTTP method in upper case. */
  readonly method: string
  /** Whether the method only reads: GET, HEAD or OPTIONS. */
  readonly reads: boolean
  /** The HTTP Basic credentials of the request, not verified. */
  readonly credentials: Credentials | undefined
  /**
   * Verifies the credentials with the authenticator of their scheme. Resolves to the principal; undefined if they are
   * missing or wrong.
   */
  readonly authenticate: () => Promise<Principal | undefined>
  /** Koa's context, for applications whose own middleware authenticates the user, for example in `ctx.state.user`. */
  readonly context: Context
}

/**
 * An access rule: a function that returns the principal, or null or undefined to refuse the request (401).
 * @example
 * const session: Rule = ({ context }) => context.state.user ?? null
 */
export interface Rule {
  (request: AccessRequest): Principal | null | undefined | Promise<Principal | null | undefined>
  /** Name of the rule in the list of mounted resources and in messages. Default: the function's name. */
  readonly title?: string
  /** False for a rule that refuses all writes. Default: true. */
  readonly writes?: boolean
  /**
   * `'public'` for a rule that allows reading without credentials: the OpenAPI document says so, and credentials that are
   * sent nevertheless identify the reader if the mount has row scopes or permissions. Default: not known.
   */
  readonly read?: 'public'
  /** Whether the rule requires a user entity (`@UserAccount`), or one with an admin flag. Checked at mount. */
  readonly needs?: 'users' | 'admins'
}

/** Options of {@link userRule} and {@link adminRule}. */
export interface ReadAccess {
  /**
   * `'public'` allows GET, HEAD and OPTIONS without credentials (specification: User rule). Default: all methods
   * require them.
   */
  readonly read?: 'public'
}

/**
 * A rule that allows reading without credentials and refuses writes. It is the default (specification: Read-only rule).
 */
export function readOnlyRule(): Rule {
  return withDescription(({ reads }) => (reads ? anonymous : null), {
    title: 'read-only',
    writes: false,
    read: 'public',
  })
}

/** A rule that requires the credentials of an active user (specification: User rule). */
export function userRule(access: ReadAccess = {}): Rule {
  const rule: Rule = ({ authenticate }) => authenticate()
  return withReadAccess(rule, access, { title: 'user', needs: 'users' })
}

/**
 * A rule that requires credentials of an administrator. Other users are refused: 401, or 403 with the mount option
 * `forbidden: 403` (specification: Admin rule).
 */
export function adminRule(access: ReadAccess = {}): Rule {
  const user = userRule()
  const rule: Rule = async (request) => {
    const principal = await user(request)
    return principal?.admin ? principal : null
  }
  return withReadAccess(rule, access, { title: 'admin', needs: 'admins' })
}

type Description = Pick<Rule, 'title' | 'writes' | 'needs' | 'read'>

/** @throws {TypeError} for an unknown option or value */
function withReadAccess(rule: Rule, access: ReadAccess, description: Description): Rule {
  const name = `${description.title}Rule`
  if (typeof access !== 'object' || access === null) {
    const given = typeof access === 'function' ? 'a function' : JSON.stringify(access)
    const call = `${name}({ read: 'public' })`
    throw new TypeError(`${name}() must be called with an object of options, not ${given}: write ${call}`)
  }
  checkOptionNames(access, { read: true }, (mistake) => {
    throw new TypeError(`${name}() has an ${mistake}`)
  })
  const { read } = access
  if (read !== undefined && read !== 'public')
    throw new TypeError(`${name}(): "read" must be "public" or undefined, not "${read}"`)
  if (read === undefined) return withDescription(rule, description)
  return withDescription((request) => (request.reads ? anonymous : rule(request)), {
    ...description,
    read,
    title: `${description.title}, public reading`,
  })
}

function withDescription(rule: Rule, description: Description): Rule {
  return Object.freeze(Object.assign(rule, description))
}
