import { useId, useMemo, useRef } from 'preact/hooks'
import type { FieldError } from './api'
import { type Draft, fieldsOfRow, type Row, type Rows, rowsIn, textIn } from './draft'
import { errorAt, FieldRow } from './field-row'
import { useFocusEffect } from './focus'
import { type Field, title, valueAt } from './model'

interface FieldRowsProps {
  readonly fields: readonly Field[]
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** The record; undefined for a new one. */
  readonly stored?: unknown
  /** The record that the user has seen, if another user may have changed it meanwhile. */
  readonly seen?: unknown
  readonly errors: readonly FieldError[] | undefined
  /** Path of the record in the body, such as `lines[3].` */
  readonly path?: string
}

/** Inputs of a record, and of its related records. */
export function FieldRows({
  fields,
  draft,
  onChange,
  stored,
  seen = stored,
  errors = none,
  path = '',
}: FieldRowsProps) {
  const change = (name: string, value: string | null | Rows | undefined): void => {
    const next = new Map(draft)
    if (value === undefined) next.delete(name)
    else next.set(name, value)
    onChange(next)
  }
  return (
    <>
      {fields.map((field) => {
        const { name } = field
        const common = { field, stored: valueAt(stored, field.path) }
        if (field.rows !== undefined) {
          return (
            <RowsInput
              key={name}
              {...common}
              rows={rowsIn(draft, name)}
              onChange={(rows) => change(name, rows)}
              errors={errors}
              path={path + name}
            />
          )
        }
        return (
          <FieldRow
            key={name}
            {...common}
            value={textIn(draft, name)}
            seen={valueAt(seen, field.path)}
            error={errorAt(errors, path + name)}
            onChange={(text) => change(name, text)}
          />
        )
      })}
    </>
  )
}

const none: readonly FieldError[] = []

interface RowsProps {
  readonly field: Field
  /** Undefined until the user edits them. */
  readonly rows: Rows | undefined
  /** The related records; undefined for a new record. */
  readonly stored: unknown
  readonly onChange: (rows: Rows) => void
  readonly errors: readonly FieldError[]
  readonly path: string
}

/** Rows of a form before the user edits them: one for each related record. */
function storedRows(stored: unknown): Rows {
  const records = (Array.isArray(stored) ? stored : []) as readonly { readonly id: unknown }[]
  return records.map(({ id }) => ({ key: JSON.stringify(id), id, draft: new Map() }))
}

/** Number of rows that were added. It is part of their keys, which differ from all keys of stored records. */
let added = 0

/** Related records, each with the inputs of its fields and a button to remove it, and a button to add one. */
function RowsInput({ field, rows: edited, stored, onChange, errors, path }: RowsProps) {
  const id = useId()
  const initial = useMemo(() => storedRows(stored), [stored])
  const rows = edited ?? initial
  const area = useRef<HTMLFieldSetElement>(null)
  /** Key of the row that has been added. */
  const next = useRef('')
  // Rows may be added and removed after the errors have been found.
  const sent = useMemo(() => rows, [errors])
  const name = title(field.name)
  const add = (): void => {
    next.current = `new ${++added}`
    onChange([...rows, { key: next.current, id: undefined, draft: new Map() }])
  }
  const remove = (row: Row): void => {
    onChange(rows.filter((one) => one !== row))
    // The button that was pressed does not exist any more, so the focus would be lost.
    area.current?.querySelector<HTMLElement>(':scope > .add')?.focus()
  }
  useFocusEffect(() => {
    if (next.current === '') return
    next.current = ''
    const last = area.current?.querySelector(':scope > .line:nth-last-of-type(1)')
    last?.querySelector<HTMLElement>('input, textarea, select')?.focus()
  }, [rows])
  const own = errors.filter((one) => one.field === path)
  return (
    <fieldset class={own.length > 0 ? 'lines wrong' : 'lines'} ref={area} aria-describedby={`${id}-hint`}>
      <legend>{name}</legend>
      {rows.map((row, index) => (
        <Line
          key={row.key}
          field={field}
          row={row}
          label={`${name} ${index + 1}`}
          stored={row.id === undefined ? undefined : recordOf(stored, row.id)}
          errors={errors}
          path={`${path}[${sent.findIndex((one) => one.key === row.key)}]`}
          onChange={(draft) => onChange(rows.with(index, { ...row, draft }))}
          onRemove={() => remove(row)}
        />
      ))}
      <small id={`${id}-hint`}>
        {rows.length === 0 && 'None. '}
        {initial.length > 0 && 'What is removed here is deleted when the form is saved.'}
      </small>
      {own.map(({ message }) => (
        <p key={message} class="error">
          {name} {message}
        </p>
      ))}
      {field.rows?.create && (
        <button type="button" class="add" onClick={add}>
          Add to {name}
        </button>
      )}
      <span class="hidden" role="status">
        {rows.length} {name}
      </span>
    </fieldset>
  )
}

function recordOf(stored: unknown, id: unknown): unknown {
  return Array.isArray(stored) ? stored.find((one) => one.id === id) : undefined
}

interface LineProps {
  readonly field: Field
  readonly row: Row
  readonly label: string
  readonly stored: unknown
  readonly errors: readonly FieldError[]
  /** Path of the record in the body, such as `lines[3]`. */
  readonly path: string
  readonly onChange: (draft: Draft) => void
  readonly onRemove: () => void
}

function Line({ field, row, label, stored, errors, path, onChange, onRemove }: LineProps) {
  const fields = fieldsOfRow(field, row)
  // Errors of the whole record, and of fields that have no input.
  const others = errors.filter((one) => {
    const isOwn = one.field === path || one.field.startsWith(`${path}.`)
    return isOwn && !fields.some(({ name }) => errorAt([one], `${path}.${name}`))
  })
  return (
    <fieldset class="line">
      <legend>{label}</legend>
      <FieldRows {...{ fields, stored, errors, onChange }} draft={row.draft} path={`${path}.`} />
      {others.map((one) => (
        <p key={one.field} class="error">
          {one.field.slice(path.length + 1)} {one.message}
        </p>
      ))}
      <button type="button" onClick={onRemove}>
        Remove<span class="hidden"> {label}</span>
      </button>
    </fieldset>
  )
}
