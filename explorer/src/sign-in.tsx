import { useRef, useState } from 'preact/hooks'
import type { Refused } from './api'
import { useFocusEffect } from './focus'
import { type Credentials, passwordCredentials, pastedCredentials, type Scheme } from './scheme'

interface SignInProps {
  readonly schemes: readonly [Scheme, ...Scheme[]]
  readonly onSignIn: (credentials: Credentials) => Promise<void>
  readonly onClose: () => void
}

/** Sign-in dialog. The page keeps the credentials in memory until it is closed or reloaded. */
export function SignIn({ schemes, onSignIn, onClose }: SignInProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [chosen, setChosen] = useState<string>()
  const [error, setError] = useState('')
  useFocusEffect(() => dialog.current?.showModal(), [])
  const scheme = schemes.find(({ name }) => name === chosen) ?? schemes[0]
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const credentials = credentialsIn(new FormData(event.currentTarget as HTMLFormElement), scheme)
    if (credentials === undefined) return setError(`${scheme.label}: only ASCII characters without spaces are allowed.`)
    await onSignIn(credentials).catch(({ status, message }: Refused) =>
      setError(status === 401 ? wrongMessage(scheme) : message),
    )
  }
  const choose = (name: string): void => {
    setChosen(name)
    setError('')
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="sign-in">
      <form onSubmit={submit}>
        <h2 id="sign-in">Sign in</h2>
        {schemes.length > 1 && (
          <label>
            Sign in with
            <select value={scheme.name} onChange={(event) => choose(event.currentTarget.value)}>
              {schemes.map(({ name, label }) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
        <Inputs key={scheme.name} scheme={scheme} />
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

function Inputs({ scheme }: { readonly scheme: Scheme }) {
  if (scheme.variable !== undefined) {
    return (
      <label>
        {scheme.label}
        <input name="secret" type="password" autocomplete="off" required />
      </label>
    )
  }
  return (
    <>
      <label>
        User name
        <input name="username" autocomplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
    </>
  )
}

function credentialsIn(data: FormData, scheme: Scheme): Credentials | undefined {
  const text = (name: string): string => String(data.get(name))
  if (scheme.variable === undefined) return passwordCredentials(text('username'), text('password'))
  return pastedCredentials(scheme, text('secret'))
}

function wrongMessage({ variable, label }: Scheme): string {
  return variable === undefined
    ? 'The user name or the password is wrong.'
    : `${label}: the service does not accept it. It may be wrong or expired.`
}
