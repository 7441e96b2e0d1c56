import { useEffect, useRef, useState } from 'preact/hooks'
import { type Reply, type Request, send } from './api'
import { type Resource, valueAt } from './model'
import { Problem } from './problem'
import { go, links } from './route'
import { useError, useSession } from './session'

interface ActionsProps {
  readonly resource: Resource
  readonly id: string
  /** The record as it was read, with its ETag. */
  readonly before: Reply
}

/** Buttons for the actions on a record that the access rule and the owner permit. */
export function Actions({ resource, id, before }: ActionsProps) {
  const { user, askToSignIn } = useSession()
  const { name, owner, updates, deletes, writesNeedUser, writesNeedAdmin } = resource
  if (!updates && !deletes) return null
  if (user === undefined && writesNeedUser) {
    if (askToSignIn === undefined) return null
    return (
      <button type="button" onClick={askToSignIn}>
        Sign in to change it
      </button>
    )
  }
  if (user && writesNeedAdmin && !user.admin) return <p class="quiet">Only administrators may change it.</p>
  if (user && owner !== undefined && String(valueAt(before.json, owner.split('__'))) !== String(user.id)) {
    return <p class="quiet">Only its owner may change it.</p>
  }
  return (
    <div class="buttons">
      {updates && (
        <a class="button" href={links.edit(name, id)}>
          Edit
        </a>
      )}
      {deletes && <Delete name={name} path={`/${name}/${encodeURIComponent(id)}/`} tag={before.tag} />}
    </div>
  )
}

interface DeleteProps {
  readonly name: string
  readonly path: string
  readonly tag: string | null
}

/** Delete button. It asks for confirmation, because a deletion cannot be undone. */
function Delete({ name, path, tag }: DeleteProps) {
  const { user, note } = useSession()
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useError()
  const sure = useRef<HTMLButtonElement>(null)
  const request: Request = { method: 'DELETE', path, tag }
  useEffect(() => {
    note(isAsking ? request : { method: 'GET', path })
    if (isAsking) sure.current?.focus()
  }, [isAsking])
  const remove = (): Promise<void> => send(request, user).then(() => go(links.list(name)), setError)
  if (!isAsking) {
    return (
      <button type="button" onClick={() => setAsking(true)}>
        Delete
      </button>
    )
  }
  return (
    <>
      <button type="button" class="danger" onClick={remove} ref={sure}>
        Delete for good
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Keep
      </button>
      {error && <Problem error={error} />}
    </>
  )
}
