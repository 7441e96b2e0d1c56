import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { type Refused, type Reply, type Request, send } from './api'
import { type Model, type Resource, valueAt } from './model'
import type { Credentials } from './scheme'

/** The signed-in user. */
export interface User extends Credentials {
  readonly id: unknown
  readonly admin: boolean
}

/** Name of a user for display. */
export function nameOf({ username, id }: User): string {
  return username ?? `User ${id}`
}

/** Whether a user may read records of a resource, as far as the OpenAPI document says. */
export function mayRead({ readsNeedUser, readsNeedAdmin }: Resource, user: User | undefined): boolean {
  return (user !== undefined || !readsNeedUser) && (!readsNeedAdmin || user?.admin === true)
}

/** Whether a user may write records of a resource, as far as the OpenAPI document says. */
export function mayWrite({ writesNeedUser, writesNeedAdmin }: Resource, user: User | undefined): boolean {
  return (user !== undefined || !writesNeedUser) && (!writesNeedAdmin || user?.admin === true)
}

/** Whether a record belongs to another user, so that this user may not write it. */
export function belongsToAnother({ owner }: Resource, user: User | undefined, record: unknown): boolean {
  return user !== undefined && owner !== undefined && String(valueAt(record, owner.split('__'))) !== String(user.id)
}

/** Context of all components. */
export interface Session {
  readonly model: Model
  readonly user: User | undefined
  /** Undefined if the service has no scheme to sign in with. */
  readonly askToSignIn: (() => void) | undefined
  /** Whether date-times are shown and picked in the time zone of the browser. Otherwise in UTC. */
  readonly isLocalTime: boolean
  /** Sets the request that the page shows. */
  readonly showRequest: (request: Request) => void
  /** Shows a message about what was done, until the user navigates to another view. */
  readonly announce: (done: string) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession must be called inside of SessionContext.Provider')
  return session
}

/** State of the error of a request. It applies to the user who sent the request only: for another user it is undefined. */
export function useError(): [error: Refused | undefined, setError: (error: Refused | undefined) => void] {
  const { user } = useSession()
  const [last, setLast] = useState<{ readonly error: Refused | undefined; readonly user: User | undefined }>()
  return [last?.user === user ? last?.error : undefined, (error) => setLast({ error, user })]
}

/** State of a GET request. */
export type Loaded =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Refused }
  | { readonly state: 'done'; readonly reply: Reply }

const loading: Loaded = { state: 'loading' }

/** Window events after which failed requests are repeated: the button "Try again", and a restored network connection. */
const retryEvents = ['retry', 'online']

/**
 * Fetches a path, and again when the user changes.
 * @param isShown whether the request bar of the page shows this request
 * @param fallback path without the records that the page has added to the request, for a service that refuses them
 * @param version another number fetches the path again
 */
export function useRead(path: string, isShown = true, fallback = path, version = 0): Loaded {
  const { user, showRequest } = useSession()
  const [last, setLast] = useState<{
    readonly path: string
    readonly user: User | undefined
    readonly loaded: Loaded
  }>()
  const [retries, setRetries] = useState(0)
  const isFailed = last?.loaded.state === 'failed'
  useEffect(() => {
    if (!isFailed) return
    const retry = (): void => setRetries((count) => count + 1)
    for (const event of retryEvents) addEventListener(event, retry)
    return () => {
      for (const event of retryEvents) removeEventListener(event, retry)
    }
  }, [isFailed])
  useEffect(() => {
    let isCurrent = true
    const show = (next: Loaded): void => {
      if (isCurrent) setLast({ path, user, loaded: next })
    }
    const fetchPath = (from: string): Promise<Reply> => {
      const request = { method: 'GET', path: from }
      if (isShown && isCurrent) showRequest(request)
      return send(request, user)
    }
    show(loading)
    fetchPath(path)
      .catch((error: Refused) => {
        if (fallback === path || ![400, 401, 403].includes(error.status)) throw error
        return fetchPath(fallback)
      })
      .then(
        (reply) => show({ state: 'done', reply }),
        (error: Refused) => show({ state: 'failed', error }),
      )
    return () => {
      isCurrent = false
    }
  }, [path, fallback, isShown, user, showRequest, version, retries])
  // The effect runs only after painting: until then, the state is that of another path or user.
  return last?.path === path && last.user === user ? last.loaded : loading
}

/**
 * Part of the last response while the next one is loaded, so that what the page shows does not disappear and move.
 * @param part of the response that is loaded; undefined until then
 * @param kind the part of a response of another kind, or for another user, is not kept
 */
export function useKept<Part>({ state }: Loaded, part: Part | undefined, kind = ''): Part | undefined {
  const { user } = useSession()
  const last = useRef({ part, kind, user })
  if (state !== 'loading' || last.current.kind !== kind || last.current.user !== user)
    last.current = { part, kind, user }
  return last.current.part
}
