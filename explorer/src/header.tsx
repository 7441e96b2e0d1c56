import { root } from './api'
import { nameOf, type User } from './session'

interface HeaderProps {
  readonly title: string
  readonly user: User | undefined
  /** Undefined if the service has no scheme to sign in with. */
  readonly onSignIn: (() => void) | undefined
  readonly onSignOut: () => void
}

/** Page header: title, link to the reference, and the signed-in user. */
export function Header({ title: name, user, onSignIn, onSignOut }: HeaderProps) {
  return (
    <header class="top">
      <button type="button" class="skip" onClick={skipToContent}>
        Skip to the content
      </button>
      <a class="brand" href="#/">
        {name}
      </a>
      <span class="spring" />
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
