import { useEffect, useRef, useState } from 'preact/hooks'
import { Refused, type Reply, send } from './api'
import { bodyOf, type Draft, faultsOf, withoutPasswords } from './draft'
import { FieldRow } from './field-row'
import { type Field, type Resource, title, valueAt } from './model'
import { FormProblem, Problem } from './problem'
import { leaveForm, links, useEdits } from './route'
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
  'Somebody else has changed the record meanwhile. Your input is kept. See both versions below, and save again.'

function Fields({ resource, id, before, initial }: FieldsProps) {
  const { user, note, announce } = useSession()
  const [first] = useState<Draft>(new Map(initial))
  const [draft, setDraft] = useState(first)
  const [versions, setVersions] = useState({ stored: before, seen: before })
  const [error, setError] = useError()
  const [isSending, setSending] = useState(false)
  const isNew = id === undefined
  const { name, creates = [], updates = [], nested, owner } = resource
  const { stored, seen } = versions
  const fields = (isNew ? creates : updates).filter(({ schema }) => !schema.readOnly)
  const change = (field: Field, text: string | null | undefined): void => {
    const next = new Map(draft)
    if (text === undefined) next.delete(field.name)
    else next.set(field.name, text)
    setDraft(next)
  }
  const path = isNew ? `/${name}/` : `/${name}/${encodeURIComponent(id)}/`
  const request = { method: isNew ? 'POST' : 'PUT', path, tag: stored?.tag ?? null }
  // Shows the request that the form would send, so that it can be copied.
  useEffect(() => note({ ...request, body: bodyOf(fields, withoutPasswords(fields, draft), isNew) }), [draft, stored])
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
    const faults = faultsOf(fields, draft)
    if (faults.length > 0) return setError(new Refused(400, '', faults))
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
        {fields.map((field) => (
          <FieldRow
            key={field.name}
            field={field}
            value={draft.has(field.name) ? (draft.get(field.name) ?? null) : undefined}
            stored={valueAt(stored?.json, field.path)}
            seen={valueAt(seen?.json, field.path)}
            error={error?.errors.find((one) => one.field === field.name)?.message}
            onChange={(text) => change(field, text)}
          />
        ))}
        {isNew && owner !== undefined && (
          <p class="quiet">It will belong to {user ? nameOf(user) : 'the user who has signed in'}.</p>
        )}
        {!isNew && nested.length > 0 && (
          <p class="quiet">Saving does not change {nested.map((field) => title(field.name)).join(' and ')}.</p>
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
