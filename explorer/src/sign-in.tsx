import { useEffect, useRef, useState } from 'preact/hooks'
import type { Credentials, Refused } from './api'

interface SignInProps {
  readonly onSignIn: (credentials: Credentials) => Promise<void>
  readonly onClose: () => void
}

/** Sign-in dialog. The page keeps the credentials in memory until it is closed or reloaded. */
export function SignIn({ onSignIn, onClose }: SignInProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState('')
  useEffect(() => dialog.current?.showModal(), [])
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    const credentials = { username: String(data.get('username')), password: String(data.get('password')) }
    await onSignIn(credentials).catch(({ status, message }: Refused) =>
      setError(status === 401 ? 'The user name or the password is wrong.' : message),
    )
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="sign-in">
      <form onSubmit={submit}>
        <h2 id="sign-in">Sign in</h2>
        <label>
          User name
          <input name="username" autocomplete="username" required />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        {error && (
          <p role="alert" class="error">
            {error}
          </p>
        )}
        <p class="buttons">
          <button type="submit" class="primary">
            Sign in
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </dialog>
  )
}
