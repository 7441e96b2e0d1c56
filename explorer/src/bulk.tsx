import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { memberOf } from '../../src/client/group-text'
import { Refused, type Request, send } from './api'
import { bodyOf, type Draft, inputErrorsOf, textIn, withoutPasswords } from './draft'
import { errorAt, FieldRow } from './field-row'
import { useFocusEffect } from './focus'
import { FormButton, type ListForm } from './form-button'
import { countOf, type Resource } from './model'
import { FormProblem, Problem } from './problem'
import { pathOf, useEdits } from './route'
import { mayWrite, type User, useError, useSession } from './session'

/** Whether a user may change or delete several records by one request. */
export function mayWriteMany(resource: Resource, user: User | undefined): boolean {
  return resource.maxChanged + resource.maxDeleted > 0 && mayWrite(resource, user)
}

interface BulkProps {
  readonly resource: Resource
  /** Ids of the selected records. */
  readonly ids: readonly string[]
  /** The open form of the list. */
  readonly form: ListForm | undefined
  readonly onOpen: (form: ListForm) => void
  readonly onClose: () => void
  /** Receives a message about what was done. */
  readonly onDone: (result: string) => void
}

/** Number of selected records, with buttons to change or delete all of them by one request. */
export function Bulk({ resource, ids, form, onOpen, onClose, onDone }: BulkProps) {
  const { maxChanged, maxDeleted } = resource
  const count = ids.length
  const max = Math.max(maxChanged, maxDeleted)
  const panel = { resource, ids, onClose, onDone }
  const button = { form, onOpen, onClose, disabled: count === 0 || count > max }
  return (
    <div class="tools">
      <span role="status">{count === 0 ? 'No record is selected' : `${count.toLocaleString('en')} selected`}</span>
      {maxChanged > 0 && <FormButton {...button} opens="change" label="Change…" />}
      {maxDeleted > 0 && <FormButton {...button} opens="delete" label="Delete…" />}
      {count > max && <span class="quiet">One request can write {countOf(max)} at most.</span>}
      {count > 0 && form === 'change' && <Change {...panel} />}
      {count > 0 && form === 'delete' && <Delete {...panel} />}
    </div>
  )
}

type PanelProps = Pick<BulkProps, 'resource' | 'ids' | 'onClose' | 'onDone'>

/** Path of a request for the records with these ids. */
function pathOfRecords({ name }: Resource, ids: readonly string[]): string {
  return pathOf(`/${name}/`, { id__in: ids.map(memberOf).join(), max: String(ids.length) })
}

/** Message about the result of a request. Records that another user has deleted meanwhile are not counted. */
function resultOf(done: 'changed' | 'deleted', count: number, selected: number): string {
  const missing = count < selected ? ` ${countOf(selected - count)} of the selection did not exist any more.` : ''
  return `${countOf(count)} ${done}.${missing}`
}

/** Adds what the user can do if the list of ids is too long: its limits are not in the OpenAPI document. */
function explained(error: Refused): Refused {
  if (!error.errors.some(({ field }) => field === 'id__in')) return error
  return new Refused(error.status, `Select fewer records. ${error.message}`, [])
}

/** Form for values that all selected records get. Only the inputs that are filled in are sent. */
function Change({ resource, ids, onDone, onClose }: PanelProps) {
  const { user, showRequest } = useSession()
  const [draft, setDraft] = useState<Draft>(new Map())
  const [error, setError] = useError()
  const [isSending, setSending] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const id = useId()
  const fields = (resource.updates ?? []).filter(({ schema }) => !schema.readOnly)
  const path = pathOfRecords(resource, ids)
  const requestOf = (values: Draft): Request => ({ method: 'PATCH', path, body: bodyOf(fields, values, true) })
  useFocusEffect(() => heading.current?.focus(), [])
  useEffect(() => showRequest(requestOf(withoutPasswords(fields, draft))), [draft, path])
  useEdits(draft.size > 0)
  const change = (name: string, text: string | null | undefined): void => {
    const next = new Map(draft).set(name, text ?? null)
    if (text === '') next.delete(name)
    setDraft(next)
  }
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (isSending) return
    if (draft.size === 0) return setError(new Refused(400, 'Fill in at least one field.', []))
    const inputErrors = inputErrorsOf(fields, draft)
    if (inputErrors.length > 0) return setError(new Refused(400, '', inputErrors))
    setSending(true)
    await send(requestOf(draft), user).then(
      ({ json }) => onDone(resultOf('changed', Object(json).meta.updated, ids.length)),
      (refused: Refused) => setError(explained(refused)),
    )
    setSending(false)
  }
  return (
    <form class="panel" aria-labelledby={id} onSubmit={save} noValidate>
      <h2 id={id} tabIndex={-1} ref={heading}>
        Change {countOf(ids.length)}
      </h2>
      <p class="quiet">All selected records get the values that you fill in. Empty inputs change nothing.</p>
      {error && <FormProblem error={error} fields={fields} />}
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={textIn(draft, field.name)}
          stored={undefined}
          error={errorAt(error?.errors, field.name)}
          onChange={(text) => change(field.name, text)}
        />
      ))}
      <p class="buttons">
        <button type="submit" class="primary" aria-disabled={isSending}>
          Change {countOf(ids.length)}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}

/** Asks for confirmation: not every entity is deleted softly, and restoring needs a permission. */
function Delete({ resource, ids, onDone, onClose }: PanelProps) {
  const { user, showRequest } = useSession()
  const [error, setError] = useError()
  const [isSending, setSending] = useState(false)
  const confirmButton = useRef<HTMLButtonElement>(null)
  const id = useId()
  const path = pathOfRecords(resource, ids)
  const request: Request = { method: 'DELETE', path }
  useFocusEffect(() => confirmButton.current?.focus(), [])
  useEffect(() => showRequest(request), [path])
  const remove = async (): Promise<void> => {
    if (isSending) return
    setSending(true)
    await send(request, user).then(
      ({ json }) => onDone(resultOf('deleted', Object(json).meta.deleted, ids.length)),
      (refused: Refused) => setError(explained(refused)),
    )
    setSending(false)
  }
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>
        Delete {countOf(ids.length)} of {resource.name}?
      </h2>
      {error && <Problem error={error} />}
      <p class="buttons">
        <button type="button" class="danger" aria-disabled={isSending} onClick={remove} ref={confirmButton}>
          Delete {countOf(ids.length)}
        </button>
        <button type="button" onClick={onClose}>
          Keep
        </button>
      </p>
    </section>
  )
}
