import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type Credentials, type Refused, type Reply, type Request, send } from './api'
import type { Model } from './model'

/** The signed-in user. */
export interface User extends Credentials {
  readonly id: unknown
  readonly admin: boolean
}

/** Context of all components. */
export interface Session {
  readonly model: Model
  readonly user: User | undefined
  readonly askToSignIn: () => void
  /** Sets the request that the page shows. */
  readonly note: (request: Request) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('there is no session around this')
  return session
}

/** State of a GET request. */
export type Loaded =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Refused }
  | { readonly state: 'done'; readonly reply: Reply }

/** Fetches a path, and again when the user changes. @param isNoted whether the page shows this request */
export function useRead(path: string, isNoted = true): Loaded {
  const { user, note } = useSession()
  const [loaded, setLoaded] = useState<Loaded>({ state: 'loading' })
  useEffect(() => {
    let isCurrent = true
    const request = { method: 'GET', path }
    const show = (next: Loaded): void => {
      if (isCurrent) setLoaded(next)
    }
    if (isNoted) note(request)
    show({ state: 'loading' })
    send(request, user).then(
      (reply) => show({ state: 'done', reply }),
      (error: Refused) => show({ state: 'failed', error }),
    )
    return () => {
      isCurrent = false
    }
  }, [path, isNoted, user, note])
  return loaded
}
