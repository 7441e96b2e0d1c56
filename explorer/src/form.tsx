import { useEffect, useRef, useState } from 'preact/hooks'
import { Refused, type Reply, send } from './api'
import { bodyOf, type Draft, faultsOf, withoutPasswords } from './draft'
import { FieldRow } from './field-row'
import { type Field, type Resource, title, valueAt } from './model'
import { Problem } from './problem'
import { go, links } from './route'
import { useError, useRead, useSession } from './session'

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
  if (loaded.state === 'failed') return <Problem error={loaded.error} />
  if (before.current === undefined) return <h1 tabIndex={-1}>{resource.name}</h1>
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

function Fields({ resource, id, before, initial }: FieldsProps) {
  const { user, note } = useSession()
  const [draft, setDraft] = useState<Draft>(new Map(initial))
  const [error, setError] = useError()
  const [isSending, setSending] = useState(false)
  const isNew = id === undefined
  const { name, creates = [], updates = [] } = resource
  const fields = (isNew ? creates : updates).filter(({ schema }) => !schema.readOnly)
  const change = (field: Field, text: string | null): void => setDraft(new Map(draft).set(field.name, text))
  const path = isNew ? `/${name}/` : `/${name}/${encodeURIComponent(id)}/`
  const request = { method: isNew ? 'POST' : 'PUT', path, tag: before?.tag ?? null }
  // Shows the request that the form would send, so that it can be copied.
  useEffect(() => note({ ...request, body: bodyOf(fields, withoutPasswords(fields, draft), isNew) }), [draft])
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (isSending) return
    const faults = faultsOf(fields, draft)
    if (faults.length > 0) return setError(new Refused(400, '', faults))
    setSending(true)
    await send({ ...request, body: bodyOf(fields, draft, isNew) }, user).then(
      ({ json }) => go(links.record(name, Object(json).id)),
      setError,
    )
    setSending(false)
  }
  const others = error?.errors.filter((one) => !fields.some((field) => field.name === one.field)) ?? []
  return (
    <>
      <h1 tabIndex={-1}>{isNew ? `New ${name}` : `Edit ${name} ${id}`}</h1>
      {error && error.errors.length === 0 && <Problem error={error} />}
      {error && error.errors.length > 0 && (
        <div role="alert" class="notice">
          <p>This is not accepted. See what is said beside the fields.</p>
          {others.map((one) => (
            <p key={one.field}>
              {title(one.field)} {one.message}
            </p>
          ))}
        </div>
      )}
      <form class="fields" onSubmit={save} noValidate>
        {fields.map((field) => (
          <FieldRow
            key={field.name}
            field={field}
            value={draft.has(field.name) ? (draft.get(field.name) ?? null) : undefined}
            stored={valueAt(before?.json, field.path)}
            error={error?.errors.find((one) => one.field === field.name)?.message}
            onChange={(text) => change(field, text)}
          />
        ))}
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
