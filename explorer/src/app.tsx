import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Refused, type Request, send } from './api'
import type { OpenApi } from './document'
import { useFocusEffect } from './focus'
import { Form } from './form'
import { Header } from './header'
import { List } from './list'
import { type Model, type Resource, readModel, title } from './model'
import { RecordView } from './record'
import { RequestBar } from './request-bar'
import { links, pathOf, type Route, useRoute } from './route'
import { type Credentials, type Scheme, schemesIn } from './scheme'
import { mayRead, type Session, SessionContext, type User, useSession } from './session'
import { SignIn } from './sign-in'
import { useLocalTime } from './time-zone'

/** The request for the OpenAPI document, from which the page knows the resources. */
const documentRequest: Request = { method: 'GET', path: '/openapi.json' }

export function App() {
  const [model, setModel] = useState<Model>()
  const [error, setError] = useState<Refused>()
  const [user, setUser] = useState<User>()
  const [isSigningIn, setSigningIn] = useState(false)
  const [request, setRequest] = useState(documentRequest)
  const [done, setDone] = useState({ text: '', hash: '' })
  const announce = (text: string): void => setDone({ text, hash: location.hash })
  useEffect(() => {
    let isCurrent = true
    const show = (next: Model | undefined, refused?: Refused): void => {
      if (!isCurrent) return
      setError(refused)
      // If this user may not read the OpenAPI document, do not show the one that was loaded for another user.
      if (next !== undefined || refused?.status === 401) setModel(next)
    }
    send(documentRequest, user).then(
      ({ json }) => show(readModel(json as OpenApi)),
      (refused: Refused) => show(undefined, refused),
    )
    return () => {
      isCurrent = false
    }
  }, [user])
  const signIn = async (credentials: Credentials): Promise<void> => {
    const { json } = await send({ method: 'GET', path: '/-/session' }, credentials)
    const { id, admin } = Object(json)
    setUser({ ...credentials, id, admin })
    setSigningIn(false)
  }
  const [scheme, ...others] = schemesFor(model, error)
  const askToSignIn = scheme && (() => setSigningIn(true))
  const [isLocalTime, setLocalTime] = useLocalTime()
  const session = useMemo(
    () => model && { model, user, askToSignIn, isLocalTime, showRequest: setRequest, announce },
    [model, user, isLocalTime],
  )
  return (
    <>
      <Header
        title={model?.title ?? 'API'}
        user={user}
        isLocalTime={isLocalTime}
        onSignIn={askToSignIn}
        onSignOut={() => setUser(undefined)}
        onLocalTime={setLocalTime}
      />
      {isSigningIn && scheme && (
        <SignIn schemes={[scheme, ...others]} onSignIn={signIn} onClose={() => setSigningIn(false)} />
      )}
      {error && !model && (
        <main class="content">
          <p role="alert" class={error.status === 401 ? 'notice calm' : 'notice'}>
            {error.message}
          </p>
        </main>
      )}
      {session && <Shell session={session} request={request} done={done} />}
    </>
  )
}

/** Schemes to sign in with: from the OpenAPI document, or from the 401 if only users can read the document. */
function schemesFor(model: Model | undefined, error: Refused | undefined): readonly Scheme[] {
  if (model !== undefined) return model.schemes
  return error?.status === 401 ? schemesIn(error.challenges) : []
}

interface ShellProps {
  readonly session: Session
  readonly request: Request
  /** Message about what the last form has done, and the URL fragment of the view that shows it. */
  readonly done: { readonly text: string; readonly hash: string }
}

function Shell({ session, request, done }: ShellProps) {
  const route = useRoute()
  const { resources, title: name } = session.model
  const resource = resources.get(route.resource)
  useFocusOnHeading(route, name)
  useFocusKept(session.user)
  useEffect(() => {
    if (done.hash !== location.hash) session.announce('')
  }, [route])
  return (
    <SessionContext.Provider value={session}>
      <div class="shell">
        <nav aria-label="Resources">
          <ul>
            {[...resources.keys()].map((one) => (
              <li key={one}>
                <a href={links.list(one)} aria-current={one === route.resource ? 'page' : undefined}>
                  {one}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <main class="content">
          <p role="status" class="result done">
            {done.text}
          </p>
          {resource ? (
            <View key={viewKey(route)} resource={resource} route={route} />
          ) : (
            <Start route={route} model={session.model} />
          )}
        </main>
      </div>
      <RequestBar request={request} />
    </SessionContext.Provider>
  )
}

/** Preact key of a view. Without the query, so that a view keeps its state when only the query changes. */
function viewKey({ resource, id, form }: Route): string {
  return JSON.stringify([resource, id, form])
}

function View({ resource, route }: { readonly resource: Resource; readonly route: Route }) {
  const { id, form, query } = route
  const { user } = useSession()
  if (form !== 'create' && !mayRead(resource, user)) return <Closed resource={resource} route={route} />
  if (form === 'create') return <Form resource={resource} initial={query} />
  if (id === undefined) return <List resource={resource} query={query} />
  if (form === 'update') return <Form resource={resource} id={id} />
  return <RecordView resource={resource} id={id} deleted={resource.restores ? query.get('deleted') : null} />
}

/** View of a resource that the user may not read. The page knows this from the OpenAPI document and sends no request, but shows it. */
function Closed({ resource: { name, description }, route }: { readonly resource: Resource; readonly route: Route }) {
  const { user, askToSignIn, showRequest } = useSession()
  const { id, query } = route
  const path = id === undefined ? pathOf(`/${name}/`, query) : `/${name}/${encodeURIComponent(id)}/`
  useEffect(() => showRequest({ method: 'GET', path }), [path])
  const whose = user ? 'administrators' : 'users who have signed in'
  return (
    <>
      <h1 tabIndex={-1}>{name}</h1>
      <p class="quiet">{description}</p>
      <p class="notice calm">
        {user || !askToSignIn ? `Only ${whose} may see these records.` : 'Sign in to see these records.'}
      </p>
    </>
  )
}

function Start({ route, model }: { readonly route: Route; readonly model: Model }) {
  const { showRequest } = useSession()
  useEffect(() => showRequest(documentRequest), [])
  return (
    <>
      <h1 tabIndex={-1}>{route.resource === '' ? model.title : `There is no resource "${route.resource}"`}</h1>
      <p>Choose what to look at.</p>
      <ul class="cards">
        {[...model.resources.values()].map(({ name, description, fields }) => (
          <li key={name}>
            <a href={links.list(name)}>{name}</a>
            <p>{description}</p>
            <p class="quiet">{fields.map((field) => title(field.name)).join(', ')}</p>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Sets the page title and focuses the heading after navigation, for users of keyboards and screen readers. */
function useFocusOnHeading(route: Route, name: string): void {
  const isFirst = useRef(true)
  const { resource, id, form } = route
  useFocusEffect(() => {
    document.title = [resource, id, form === 'create' ? 'new' : form && 'edit'].filter(Boolean).concat(name).join(' · ')
    if (!isFirst.current) document.querySelector<HTMLElement>('h1')?.focus()
    isFirst.current = false
  }, [resource, id, form, name])
}

/** Focuses the heading if signing in or out has removed the focused element. */
function useFocusKept(user: User | undefined): void {
  const before = useRef(user)
  useFocusEffect(() => {
    const isElsewhere = document.activeElement !== null && document.activeElement !== document.body
    if (before.current !== user && !isElsewhere) document.querySelector<HTMLElement>('h1')?.focus()
    before.current = user
  }, [user])
}
