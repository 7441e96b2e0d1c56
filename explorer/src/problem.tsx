import type { Refused } from './api'
import { useSession } from './session'

/** Message of an error, and what the user can do about it. */
export function Problem({ error }: { readonly error: Refused }) {
  const { askToSignIn, user } = useSession()
  const isLogin = error.status === 401
  return (
    <div role="alert" class="notice">
      <p>{isLogin && user ? `${user.username} may not do this.` : error.message}</p>
      {isLogin && (
        <button type="button" onClick={askToSignIn}>
          {user ? 'Sign in as somebody else' : 'Sign in'}
        </button>
      )}
    </div>
  )
}
