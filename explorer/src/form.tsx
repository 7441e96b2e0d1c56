import { useEffect, useRef, useState } from 'preact/hooks'
import { Refused, type Reply, send } from './api'
import { bodyOf, type Draft, inputErrorsOf, missingErrorsOf, rowsIn, withoutPasswords } from './draft'
import { type Resource, title } from './model'
import { FormProblem, Problem } from './problem'
import { removesRows, useRelated, withRelated } from './related'
import { leaveForm, links, useEdits } from './route'
import { FieldRows } from './rows-input'
import { nameOf, useError, useRead, useSession } from './session'

interface FormProps {
  readonly resource: Resource
  /** Id of the record to change; undefined for a new one. */
  readonly id?: string
  /** Initial values of a new record. */
  readonly initial?: URLSearchParams
}

export function Form({ resource, id, initial }: FormProps) {
  if (id === undefined) return <Fields resource={resource} initial={initial ?? new URLSearchParams()} />
  return <Update resource={resource} id={id} />
}

function Update({ resource, id }: { readonly resource: Resource; readonly id: string }) {
  const loaded = useRead(`/${resource.name}/${encodeURIComponent(id)}/`, false)
  const before = useRef<Reply>(undefined)
  if (loaded.state === 'done') before.current ??= loaded.reply
  if (loaded.state === 'failed') return <Problem error={loaded.error} isRead />
  if (before.current === undefined) return <h1 tabIndex={-1}>{`Edit ${resource.name} ${id}`}</h1>
  // The record is read again after signing in. The form keeps the first response, so that the user's input is not lost.
  return <Fields resource={resource} id={id} before={before.current} initial={new URLSearchParams()} />
}

interface FieldsProps {
  readonly resource: Resource
  readonly id?: string
  /** The record as it was read, with its ETag. */
  readonly before?: Reply
  readonly initial: URLSearchParams
}

const changedMessage =
  'Another user has changed the record meanwhile. Your input is kept. See both versions below, and save again.'

function Fields({ resource, id, before, initial }: FieldsProps) {
  const { user, showRequest, announce } = useSession()
  const { name, creates = [], updates = [], nested, owner, patches } = resource
  // A link cannot contain related records.
  const [first] = useState<Draft>(
    () => new Map([...initial].filter(([given]) => !creates.some((field) => field.rows && field.name === given))),
  )
  const [draft, setDraft] = useState(first)
  const [versions, setVersions] = useState({ stored: before, seen: before })
  const [error, setError] = useError()
  const [isSending, setSending] = useState(false)
  const isNew = id === undefined
  const { stored, seen } = versions
  const path = isNew ? `/${name}/` : `/${name}/${encodeURIComponent(id)}/`
  const related = useRelated(isNew ? undefined : path, nested)
  const editable = nested.filter((field) => related?.has(field.name))
  const others = nested.filter((field) => !editable.includes(field))
  const fields = (isNew ? creates : [...updates, ...editable]).filter(({ schema }) => !schema.readOnly)
  // Only a PUT deletes related records: those that are not in its body, also if another user has added them meanwhile.
  const removes = editable.some((field) => removesRows(rowsIn(draft, field.name), related?.get(field.name)))
  const isPatch = patches && !removes && editable.some((field) => rowsIn(draft, field.name) !== undefined)
  const request = { method: isNew ? 'POST' : isPatch ? 'PATCH' : 'PUT', path, tag: stored?.tag ?? null }
  // Shows the request that the form would send, so that it can be copied.
  useEffect(
    () => showRequest({ ...request, body: bodyOf(fields, withoutPasswords(fields, draft), isNew) }),
    [draft, stored],
  )
  useEdits(draft !== first)
  /** Reads the version that another user has saved meanwhile. The form compares it with the one that this user has seen. */
  const compare = (refused: Refused): Promise<void> =>
    send({ method: 'GET', path }, user).then((reply) => {
      setVersions({ stored: reply, seen: stored })
      setError(new Refused(refused.status, changedMessage, []))
    }, setError)
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (isSending) return
    const inputErrors = inputErrorsOf(fields, draft)
    if (inputErrors.length > 0) {
      return setError(new Refused(400, '', [...inputErrors, ...missingErrorsOf(fields, draft, isNew)]))
    }
    setSending(true)
    await send({ ...request, body: bodyOf(fields, draft, isNew) }, user).then(
      ({ json }) => {
        const { id: saved } = Object(json)
        leaveForm(links.record(name, saved))
        announce(`${name} ${saved} has been ${isNew ? 'created' : 'saved'}.`)
      },
      (refused: Refused) => (refused.status === 412 ? compare(refused) : setError(refused)),
    )
    setSending(false)
  }
  return (
    <>
      <h1 tabIndex={-1}>{isNew ? `New ${name}` : `Edit ${name} ${id}`}</h1>
      {error && <FormProblem error={error} fields={fields} />}
      <form class="fields" onSubmit={save} noValidate>
        <FieldRows
          fields={fields}
          draft={draft}
          stored={isNew ? undefined : withRelated(stored, related)}
          seen={isNew ? undefined : withRelated(seen, related)}
          errors={error?.errors}
          onChange={setDraft}
        />
        {isNew && owner !== undefined && (
          <p class="quiet">It will belong to {user ? nameOf(user) : 'the user who has signed in'}.</p>
        )}
        {related && others.length > 0 && (
          <p class="quiet">Saving does not change {others.map((field) => title(field.name)).join(' and ')}.</p>
        )}
        <p class="buttons">
          <button type="submit" class="primary" aria-disabled={isSending}>
            {isNew ? 'Create' : 'Save'}
          </button>
          <a class="button" href={isNew ? links.list(name) : links.record(name, id)}>
            Cancel
          </a>
        </p>
      </form>
    </>
  )
}
