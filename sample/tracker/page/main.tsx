import { render } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { type Session, signIn } from './api'
import { Board } from './board'
import { Dashboard } from './dashboard'
import { Export } from './export'
import { TaskView } from './task'
import { Heading, Notice, useAction, type ViewProps } from './view'
import './style.css'

const links = { '#/board': 'Board', '#/dashboard': 'Dashboard', '#/export': 'Export' }

function App() {
  const [session, setSession] = useState<Session>()
  const [hash, setHash] = useState(location.hash)
  useLayoutEffect(() => {
    const read = (): void => setHash(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  if (session === undefined) return <SignIn onSignIn={setSession} />
  const [path = '', query] = hash.split('?')
  return (
    <>
      <header>
        <nav aria-label="Views">
          {Object.entries(links).map(([link, text]) => (
            <a key={link} href={link} aria-current={link === path ? 'page' : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <button type="button" onClick={() => setSession(undefined)}>
          Sign out {session.username}
        </button>
      </header>
      <main>
        <View key={hash} path={path} session={session} query={new URLSearchParams(query)} />
      </main>
    </>
  )
}

function View({ path, ...props }: ViewProps & { readonly path: string }) {
  if (path === '#/dashboard') return <Dashboard {...props} />
  if (path === '#/export') return <Export {...props} />
  const [, id] = /^#\/task\/(.+)/.exec(path) ?? []
  return id === undefined ? <Board {...props} /> : <TaskView {...props} id={id} />
}

function SignIn({ onSignIn }: { readonly onSignIn: (session: Session) => void }) {
  const { error, run } = useAction()
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    void run(async () => onSignIn(await signIn(form['username'].value, form['password'].value)))
  }
  return (
    <main>
      <Heading text="Sign in" />
      <form onSubmit={submit}>
        <label>
          User name <input name="username" autocomplete="username" required />
        </label>
        <label>
          Password <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit">Sign in</button>
      </form>
      <Notice error={error} />
    </main>
  )
}

const container = document.getElementById('tracker')
if (container) render(<App />, container)
