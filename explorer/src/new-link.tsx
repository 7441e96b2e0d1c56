import type { Resource } from './model'
import { links } from './route'
import { useSession } from './session'

interface NewLinkProps {
  readonly resource: Resource
  /** Initial values of the new record. Names that are not its fields are ignored. */
  readonly initial: URLSearchParams
}

/** Link to the form for a new record, if the access rule permits to create one. */
export function NewLink({ resource, initial }: NewLinkProps) {
  const { user, askToSignIn } = useSession()
  const { creates, name, writesNeedUser, writesNeedAdmin } = resource
  if (creates === undefined || (user && writesNeedAdmin && !user.admin)) return null
  if (user === undefined && writesNeedUser) {
    if (askToSignIn === undefined) return null
    return (
      <button type="button" onClick={askToSignIn}>
        Sign in to add a {name}
      </button>
    )
  }
  const known = [...initial].filter(([field]) => creates.some((one) => one.name === field))
  return (
    <a class="button" href={links.create(name, new URLSearchParams(known))}>
      New {name}
    </a>
  )
}
