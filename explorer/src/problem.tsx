import type { Refused } from './api'
import { useSession } from './session'

/** Why something could not be done, and what may help. */
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
