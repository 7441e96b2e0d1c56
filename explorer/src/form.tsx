import { useId, useRef, useState } from 'preact/hooks'
import { type Refused, type Reply, send } from './api'
import { parseInput, textOf } from './input'
import { type Field, isNullable, type Resource, type Schema, title, typesOf, valueAt } from './model'
import { Problem } from './problem'
import { go, links } from './route'
import { useRead, useSession } from './session'

interface FormProps {
  readonly resource: Resource
  /** Of the record to change; undefined for a new one. */
  readonly id?: string
  /** What a new record begins with. */
  readonly initial?: URLSearchParams
}

export function Form({ resource, id, initial }: FormProps) {
  if (id === undefined) return <Fields resource={resource} initial={initial ?? new URLSearchParams()} />
  return <Update resource={resource} id={id} />
}

function Update({ resource, id }: { readonly resource: Resource; readonly id: string }) {
  const loaded = useRead(`/${resource.name}/${encodeURIComponent(id)}/`)
  const before = useRef<Reply>(undefined)
  if (loaded.state === 'done') before.current ??= loaded.reply
  if (loaded.state === 'failed') return <Problem error={loaded.error} />
  if (before.current === undefined) return <h1 tabIndex={-1}>{resource.name}</h1>
  // It is read again when somebody signs in, who has perhaps typed already.
  return <Fields resource={resource} id={id} before={before.current} initial={new URLSearchParams()} />
}

interface FieldsProps {
  readonly resource: Resource
  readonly id?: string
  /** The record as it was read, with its ETag. */
  readonly before?: Reply
  readonly initial: URLSearchParams
}

/** What is in the inputs: a text, or null. Fields that nobody has touched are not in it, and are not sent. */
type Draft = ReadonlyMap<string, string | null>

function Fields({ resource, id, before, initial }: FieldsProps) {
  const { user, note } = useSession()
  const [draft, setDraft] = useState<Draft>(new Map(initial))
  const [error, setError] = useState<Refused>()
  const [isSending, setSending] = useState(false)
  const { name, creates = [], updates = [] } = resource
  const fields = (id === undefined ? creates : updates).filter(({ schema }) => !schema.readOnly)
  const change = (field: Field, text: string | null): void => setDraft(new Map(draft).set(field.name, text))
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const body = bodyOf(fields, draft)
    const path = id === undefined ? `/${name}/` : `/${name}/${encodeURIComponent(id)}/`
    const request = { method: id === undefined ? 'POST' : 'PUT', path, body, tag: before?.tag ?? null }
    note({ ...request, body: bodyOf(fields, withoutPasswords(fields, draft)) })
    setSending(true)
    await send(request, user).then(
      ({ json }) => go(links.record(name, Object(json).id)),
      (refused: Refused) => setError(refused),
    )
    setSending(false)
  }
  const others = error?.errors.filter((one) => !fields.some((field) => field.name === one.field)) ?? []
  return (
    <>
      <h1 tabIndex={-1}>{id === undefined ? `New ${name}` : `Edit ${name} ${id}`}</h1>
      {error && error.errors.length === 0 && <Problem error={error} />}
      {error && error.errors.length > 0 && (
        <div role="alert" class="notice">
          <p>The service does not accept this. See what it says beside the fields.</p>
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
          <button type="submit" class="primary" disabled={isSending}>
            {id === undefined ? 'Create' : 'Save'}
          </button>
          <a class="button" href={id === undefined ? links.list(name) : links.record(name, id)}>
            Cancel
          </a>
        </p>
      </form>
    </>
  )
}

/** What the page shows in its request, where others may look on. */
function withoutPasswords(fields: readonly Field[], draft: Draft): Draft {
  const secret = fields.filter(({ name, schema }) => schema.format === 'password' && draft.get(name))
  return new Map([...draft, ...secret.map(({ name }) => [name, '…'] as const)])
}

function bodyOf(fields: readonly Field[], draft: Draft): object {
  const body: Record<string, unknown> = {}
  for (const { name, path, schema } of fields) {
    const text = draft.get(name)
    if (text === undefined) continue
    let at = body
    for (const part of path.slice(0, -1)) {
      at[part] ??= {}
      at = at[part] as Record<string, unknown>
    }
    at[path.at(-1) ?? name] = text === null ? null : parseInput(schema, text)
  }
  return body
}

interface FieldRowProps {
  readonly field: Field
  /** Undefined while nobody has touched it. */
  readonly value: string | null | undefined
  readonly stored: unknown
  readonly error: string | undefined
  readonly onChange: (text: string | null) => void
}

function FieldRow({ field, value, stored, error, onChange }: FieldRowProps) {
  const id = useId()
  const { name, schema, required } = field
  const shown = value === undefined ? textOf(schema, stored ?? schema.default) : (value ?? '')
  const isNull = value === null || (value === undefined && stored === null)
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>
        {title(name)}
        {required && (
          <span aria-hidden="true" class="required">
            {' '}
            required
          </span>
        )}
      </label>
      <Input
        id={id}
        schema={schema}
        value={shown}
        isRequired={required}
        isWrong={error !== undefined}
        onChange={onChange}
      />
      {isNullable(schema) && (
        <label class="inline">
          <input
            type="checkbox"
            checked={isNull}
            onChange={(event) => onChange(event.currentTarget.checked ? null : '')}
          />
          null<span class="hidden"> for {title(name)}</span>
        </label>
      )}
      <small id={`${id}-hint`}>{schema.description}</small>
      {error && (
        <p class="error" id={`${id}-error`}>
          {title(name)} {error}
        </p>
      )}
    </div>
  )
}

interface InputProps {
  readonly id: string
  readonly schema: Schema
  readonly value: string
  readonly isRequired: boolean
  readonly isWrong: boolean
  readonly onChange: (text: string) => void
}

/** Texts longer than this are written in several lines. */
const lineLength = 200

function Input({ id, schema, value, isRequired, isWrong, onChange }: InputProps) {
  const types = typesOf(schema)
  const choices = types.includes('boolean') ? ['true', 'false'] : schema.enum?.filter((one) => one !== null).map(String)
  const common = {
    id,
    value,
    'aria-required': isRequired,
    'aria-invalid': isWrong,
    'aria-describedby': `${id}-hint${isWrong ? ` ${id}-error` : ''}`,
  }
  if (choices) {
    return (
      <select {...common} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="" />
        {choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    )
  }
  const isJson = types.length === 0 || types.includes('array') || types.includes('object')
  if (isJson || (schema.maxLength ?? 0) > lineLength || isUnbounded(schema)) {
    return <textarea {...common} rows={4} onInput={(event) => onChange(event.currentTarget.value)} />
  }
  const isNumber = types.includes('integer') || types.includes('number')
  const line = {
    ...common,
    onInput: (event: { currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value),
  }
  if (schema.format === 'password') return <input {...line} type="password" autocomplete="new-password" />
  if (schema.format === 'date') return <input {...line} type="date" />
  return (
    <input
      {...line}
      inputMode={isNumber ? 'decimal' : 'text'}
      autocomplete="off"
      placeholder={String(schema.examples?.[0] ?? '')}
    />
  )
}

/** A text of any length, unlike a date or a decimal, whose form is said. */
function isUnbounded(schema: Schema): boolean {
  const { maxLength, format, pattern } = schema
  const isPlain = maxLength === undefined && format === undefined && pattern === undefined
  return isPlain && typesOf(schema).includes('string') && schema['x-resource'] === undefined
}
