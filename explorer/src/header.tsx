import { root } from './api'
import { nameOf, type User } from './session'
import { TimeZone } from './time-zone'

interface HeaderProps {
  readonly title: string
  readonly user: User | undefined
  readonly isLocalTime: boolean
  /** Undefined if the service has no scheme to sign in with. */
  readonly onSignIn: (() => void) | undefined
  readonly onSignOut: () => void
  readonly onLocalTime: (isLocal: boolean) => void
}

/** Page header: title, time zone, link to the reference, and the signed-in user. */
export function Header({ title: name, user, isLocalTime, onSignIn, onSignOut, onLocalTime }: HeaderProps) {
  return (
    <header class="top">
      <button type="button" class="skip" onClick={skipToContent}>
        Skip to the content
      </button>
      <a class="brand" href="#/">
        {name}
      </a>
      <span class="spring" />
      <TimeZone isLocalTime={isLocalTime} onLocalTime={onLocalTime} />
      <a href={`${root}/docs/`}>Reference</a>
      {user ? (
        <>
          <span class="user">{nameOf(user)}</span>
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
        </>
      ) : (
        onSignIn && (
          <button type="button" onClick={onSignIn}>
            Sign in
          </button>
        )
      )}
    </header>
  )
}

/** Moves the focus to the heading. It is not a link, because the fragment of the URL is the page's route. */
function skipToContent(): void {
  document.querySelector<HTMLElement>('h1')?.focus()
}
