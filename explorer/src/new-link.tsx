import type { Resource } from './model'
import { links } from './route'
import { useSession } from './session'

interface NewLinkProps {
  readonly resource: Resource
  /** What the new record begins with, as far as it has such fields. */
  readonly initial: URLSearchParams
}

/** Leads to the form for a new record, where the rule allows one. */
export function NewLink({ resource, initial }: NewLinkProps) {
  const { user, askToSignIn } = useSession()
  const { creates, name, writesNeedUser, writesNeedAdmin } = resource
  if (creates === undefined || (user && writesNeedAdmin && !user.admin)) return null
  if (user === undefined && writesNeedUser) {
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
