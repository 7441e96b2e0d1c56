import type { Context } from 'koa'
import type { Credentials } from './credentials'

/** Who asks. `id` is the key of the user's record, null for somebody who did not have to say. */
export interface Principal {
  readonly id: string | number | null
  readonly admin?: boolean
}

/** The principal of a request that needs none. */
export const anonymous: Principal = Object.freeze({ id: null })

/** What a rule decides by. Neither the body nor a record has been read yet. */
export interface AccessRequest {
  /** HTTP method in upper case. */
  readonly method: string
  /** Whether the method only reads: GET, HEAD or OPTIONS. */
  readonly reads: boolean
  /** The HTTP Basic credentials as sent, unchecked. */
  readonly credentials: Credentials | undefined
  /** The site's active user whose name and password were sent, else undefined. */
  readonly authenticate: () => Promise<Principal | undefined>
  /** Koa's context, for a site whose own middleware knows the user, as in `ctx.state.user`. */
  readonly context: Context
}

/**
 * An access rule: answers with the principal, or refuses (401) with null or undefined.
 * @example
 * const session: Rule = ({ context }) => context.state.user ?? null
 */
export interface Rule {
  (request: AccessRequest): Principal | null | undefined | Promise<Principal | null | undefined>
  /** Says the rule in the description of what is mounted; default: the function's name. */
  readonly title?: string
  /** False for a rule that lets nobody write. Default: true. */
  readonly writes?: boolean
  /** `'public'` for a rule that lets everybody read, for the API's description. Default: unknown. */
  readonly read?: 'public'
  /** What `@UserAccount` must provide for the rule to work. */
  readonly needs?: 'users' | 'admins'
}

export interface ReadAccess {
  /** `'public'` opens GET, HEAD and OPTIONS to everybody (specification: User rule). Default: credentials on every method. */
  readonly read?: 'public'
}

/** Only reading, by anybody. The default rule (specification: Read-only rule). */
export function readOnlyRule(): Rule {
  return withDescription(({ reads }) => (reads ? anonymous : null), {
    title: 'read-only',
    writes: false,
    read: 'public',
  })
}

/** Every user of the site, by HTTP Basic (specification: User rule). */
export function userRule({ read }: ReadAccess = {}): Rule {
  const rule: Rule = ({ authenticate }) => authenticate()
  return withReadAccess(rule, read, { title: 'user', needs: 'users' })
}

/** A user rule for administrators only; other users are refused alike (specification: Admin rule). */
export function adminRule({ read }: ReadAccess = {}): Rule {
  const user = userRule()
  const rule: Rule = async (request) => {
    const principal = await user(request)
    return principal?.admin ? principal : null
  }
  return withReadAccess(rule, read, { title: 'admin', needs: 'admins' })
}

type Description = Pick<Rule, 'title' | 'writes' | 'needs' | 'read'>

function withReadAccess(rule: Rule, read: 'public' | undefined, description: Description): Rule {
  if (read !== undefined && read !== 'public') throw new TypeError(`"read" is "public" or left out, not ${read}`)
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
