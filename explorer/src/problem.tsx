import { useEffect, useState } from 'preact/hooks'
import { type Refused, send } from './api'
import { errorAt } from './field-row'
import { type Field, title } from './model'
import { nameOf, type User, useSession } from './session'

/** Message of an error, and what the user can do about it. The header has the button to sign in. */
export function Problem({ error, isRead = false }: { readonly error: Refused; readonly isRead?: boolean }) {
  const { askToSignIn, user } = useSession()
  const isLogin = error.status === 401
  const message = useRefusal(isLogin ? user : undefined)
  return (
    <div role="alert" class={isLogin && !user ? 'notice calm' : 'notice'}>
      <p>{message ?? (isLogin && !askToSignIn ? 'Only users who have signed in may do this.' : error.message)}</p>
      {isRead && (error.status === 0 || error.status >= 500) && (
        <button type="button" onClick={() => dispatchEvent(new Event('retry'))}>
          Try again
        </button>
      )}
      {isLogin && user && askToSignIn && (
        <button type="button" onClick={askToSignIn}>
          Sign in again
        </button>
      )}
    </div>
  )
}

/** Message of an error above the inputs of fields, which show their own errors. */
export function FormProblem({ error, fields }: { readonly error: Refused; readonly fields: readonly Field[] }) {
  const others = error.errors.filter((one) => !fields.some(({ name }) => errorAt([one], name)))
  if (error.errors.length === 0) return <Problem error={error} />
  return (
    <div role="alert" class="notice">
      <p>The input is not accepted. See the messages next to the fields.</p>
      {others.map((one) => (
        <p key={one.field}>
          {title(one.field)} {one.message}
        </p>
      ))}
    </div>
  )
}

/**
 * Message for a 401. The response does not contain the reason of the refusal, so the page sends a request that finds out
 * whether the service still accepts the user's credentials.
 */
function useRefusal(user: User | undefined): string | undefined {
  const [isKnown, setKnown] = useState(true)
  useEffect(() => {
    if (user === undefined) return
    let isCurrent = true
    send({ method: 'GET', path: '/-/session' }, user).then(
      () => isCurrent && setKnown(true),
      ({ status }: Refused) => isCurrent && setKnown(status !== 401),
    )
    return () => {
      isCurrent = false
    }
  }, [user])
  if (user === undefined) return undefined
  if (isKnown) return `${nameOf(user)} may not do this.`
  const [what, why] = user.scheme.variable === undefined ? ['password', 'been changed'] : ['credentials', 'expired']
  return `The service no longer accepts the ${what} of ${nameOf(user)}, which may have ${why}.`
}
