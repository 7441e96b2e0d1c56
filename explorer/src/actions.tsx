import { useRef, useState } from 'preact/hooks'
import { Refused, type Reply, type Request, send } from './api'
import { useFocusEffect } from './focus'
import { type Field, type Resource, valueAt } from './model'
import { Problem } from './problem'
import { go, links } from './route'
import { belongsToAnother, type User, useError, useSession } from './session'

interface ActionsProps {
  readonly resource: Resource
  readonly id: string
  /** The record as it was read. */
  readonly before: unknown
  /** Value of the parameter `deleted`: the record is deleted if it is `only`, and may be if it is `with`. */
  readonly deleted: string | null
}

/** Buttons for the actions on a record that the access rule and the owner permit. */
export function Actions({ resource, id, before, deleted }: ActionsProps) {
  const { user, askToSignIn } = useSession()
  const { name, updates, deletes, writesNeedUser, writesNeedAdmin } = resource
  if (deleted === 'only') return <Restore name={name} id={id} />
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
  if (belongsToAnother(resource, user, before)) return <p class="quiet">Only its owner may change it.</p>
  return (
    <div class="buttons">
      {deleted === 'with' && <Restore name={name} id={id} />}
      {updates && (
        <a class="button" href={links.edit(name, id)}>
          Edit
        </a>
      )}
      {deletes && <Delete resource={resource} id={id} path={`/${name}/${encodeURIComponent(id)}/`} before={before} />}
    </div>
  )
}

/** Button that restores a soft-deleted record. */
function Restore({ name, id }: { readonly name: string; readonly id: string }) {
  const { user, announce } = useSession()
  const [error, setError] = useError()
  const restore = (): Promise<void> =>
    send({ method: 'POST', path: `/${name}/${encodeURIComponent(id)}/restore/` }, user).then(() => {
      go(links.record(name, id))
      announce(`${name} ${id} has been restored.`)
    }, setError)
  return (
    <>
      <button type="button" onClick={restore}>
        Restore
      </button>
      {error && <Problem error={error} />}
    </>
  )
}

interface DeleteProps {
  readonly resource: Resource
  readonly id: string
  readonly path: string
  readonly before: unknown
}

/** Delete button. It asks for confirmation, because not every deletion can be undone. */
function Delete({ resource, id, path, before }: DeleteProps) {
  const { user, showRequest, announce } = useSession()
  /** The ETag of the record; undefined until the button is pressed. */
  const [asked, setAsked] = useState<Pick<Reply, 'tag'>>()
  const [error, setError] = useError()
  const confirmButton = useRef<HTMLButtonElement>(null)
  const request: Request = { method: 'DELETE', path, tag: asked?.tag ?? null }
  useFocusEffect(() => {
    if (asked === undefined) return
    showRequest(request)
    confirmButton.current?.focus()
  }, [asked])
  const ask = (): Promise<void> => readUnchanged(path, resource.fields, before, user).then(setAsked, setError)
  const keep = (): void => {
    setAsked(undefined)
    showRequest({ method: 'GET', path })
  }
  const remove = (): Promise<void> =>
    send(request, user).then(() => {
      go(links.list(resource.name))
      announce(`${resource.name} ${id} has been deleted.`)
    }, setError)
  return (
    <>
      {asked === undefined ? (
        <button type="button" onClick={ask}>
          Delete
        </button>
      ) : (
        <>
          <button type="button" class="danger" onClick={remove} ref={confirmButton}>
            Yes, delete
          </button>
          <button type="button" onClick={keep}>
            Keep
          </button>
        </>
      )}
      {error && <Problem error={error} />}
    </>
  )
}

/**
 * Reads a record without its related records. `If-Match` of a deletion needs the ETag of this response.
 * @throws {Refused} if the record differs from the one that the page shows
 */
async function readUnchanged(
  path: string,
  fields: readonly Field[],
  before: unknown,
  user: User | undefined,
): Promise<Reply> {
  const reply = await send({ method: 'GET', path }, user)
  const textOf = (record: unknown): string => JSON.stringify(fields.map((field) => valueAt(record, field.path)))
  if (textOf(reply.json) === textOf(before)) return reply
  throw new Refused(412, 'The record has been changed since it was loaded. Reload the page to see it.', [])
}
