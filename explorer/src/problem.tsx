import type { Refused } from './api'
import { nameOf, type User, useSession } from './session'

/** Message of an error, and what the user can do about it. */
export function Problem({ error }: { readonly error: Refused }) {
  const { askToSignIn, user } = useSession()
  const isLogin = error.status === 401
  return (
    <div role="alert" class="notice">
      <p>{isLogin && user ? refusalOf(user) : error.message}</p>
      {isLogin && askToSignIn && (
        <button type="button" onClick={askToSignIn}>
          {user ? 'Sign in as somebody else' : 'Sign in'}
        </button>
      )}
    </div>
  )
}

/** A 401 does not say why the service has refused the request. */
function refusalOf(user: User): string {
  const expiry = user.scheme.variable === undefined ? '' : ', or the credentials have expired'
  return `${nameOf(user)} may not do this${expiry}.`
}
