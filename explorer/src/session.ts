import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type Credentials, type Refused, type Reply, type Request, send } from './api'
import type { Model } from './model'

/** Who has signed in. */
export interface User extends Credentials {
  readonly id: unknown
  readonly admin: boolean
}

/** What every part of the page has. */
export interface Session {
  readonly model: Model
  readonly user: User | undefined
  readonly askToSignIn: () => void
  /** The request that the page shows is the last one noted. */
  readonly note: (request: Request) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('there is no session around this')
  return session
}

/** A reading request on its way, its answer, or why there is none. */
export type Loaded =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Refused }
  | { readonly state: 'done'; readonly reply: Reply }

/** Reads a path, again when the user changes. @param isNoted whether that is the request that the page shows */
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
