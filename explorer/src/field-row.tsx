import { useId } from 'preact/hooks'
import type { FieldError } from './api'
import { localZone, shownDateTime } from './date-time'
import { DateTimeInput, isPickable } from './date-time-input'
import { isDateTime, isNullable, lineLength, type Schema, typesOf } from './document'
import { isJson, isList, textOf } from './input'
import { KeysInput } from './keys-input'
import { type Field, labelField, type Resource, title } from './model'
import { ReferenceInput } from './reference-input'
import { mayRead, useSession } from './session'

interface FieldRowProps {
  readonly field: Field
  /** Text of the input; undefined until the user edits it. */
  readonly value: string | null | undefined
  readonly stored: unknown
  /** The value that the user has seen, if another user may have changed it meanwhile. */
  readonly seen?: unknown
  readonly error: FieldError | undefined
  /** Receives the text; undefined to replace the input by the stored value. */
  readonly onChange: (text: string | null | undefined) => void
}

/** One field of a form: label, input, description and error. */
export function FieldRow({ field, value, stored, seen = stored, error, onChange }: FieldRowProps) {
  const id = useId()
  const { isLocalTime } = useSession()
  const related = useReferred(field.schema)
  const { name, schema, required } = field
  // The generated description contradicts a picker in local time. The description of a column is still shown.
  const isInUtc = isLocalTime && isDateTime(schema) && schema.description?.startsWith('A date and time in UTC')
  const inWords = (one: unknown): string =>
    isDateTime(schema) ? shownDateTime(textOf(schema, one), isLocalTime) : textOf(schema, one)
  const shown = value === undefined ? textOf(schema, stored ?? schema.default) : (value ?? '')
  const isNull = value === null || (value === undefined && stored === null)
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>
        {title(name)}
        {isDateTime(schema) && <span class="required"> {isLocalTime ? localZone() : 'UTC'}</span>}
        {required && (
          <span aria-hidden="true" class="required">
            {' '}
            required
          </span>
        )}
      </label>
      <Input id={id} field={field} related={related} value={shown} isWrong={error !== undefined} onChange={onChange} />
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
      {JSON.stringify(seen) !== JSON.stringify(stored) && (
        <p class="changed">
          Changed meanwhile from <q>{inWords(seen)}</q> to <q>{inWords(stored)}</q>.{' '}
          {value !== undefined && (
            <button type="button" onClick={() => onChange(undefined)}>
              Take this value<span class="hidden"> for {title(name)}</span>
            </button>
          )}
        </p>
      )}
      <small id={`${id}-hint`} class="about">
        {isInUtc ? '' : schema.description} {related ? '' : hintOf(schema)}
      </small>
      {error && (
        <p class="error" id={`${id}-error`}>
          {titleOf(error, name)} {error.message}
        </p>
      )}
    </div>
  )
}

interface InputProps {
  readonly id: string
  readonly field: Field
  readonly related: ReturnType<typeof useReferred>
  readonly value: string
  readonly isWrong: boolean
  readonly onChange: (text: string) => void
}

function Input({ id, field, related, value, isWrong, onChange }: InputProps) {
  const { schema, required } = field
  const types = typesOf(schema)
  const choices = types.includes('boolean') ? ['true', 'false'] : schema.enum?.filter((one) => one !== null).map(String)
  const common = {
    id,
    value,
    'aria-required': required,
    'aria-invalid': isWrong,
    'aria-describedby': `${id}-hint${isWrong ? ` ${id}-error` : ''}`,
  }
  if (related) {
    const props = { ...related, value, onChange, common }
    return types.includes('array') ? <KeysInput {...props} field={field} /> : <ReferenceInput {...props} />
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
  const line = {
    ...common,
    onInput: (event: { currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value),
  }
  if (schema.format === 'password') return <input {...line} type="password" autocomplete="new-password" />
  if (schema.format === 'date') return <input {...line} type="date" />
  if (isDateTime(schema) && isPickable(value)) {
    return <DateTimeInput common={common} value={value} onChange={onChange} />
  }
  const isText = (schema.maxLength ?? 0) <= lineLength && !isUnbounded(schema)
  if (isJson(schema) || isList(schema) || !isText) {
    return (
      <textarea
        {...common}
        class={isJson(schema) ? 'json' : undefined}
        rows={isText ? 3 : 1}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    )
  }
  const isNumber = types.includes('integer') || types.includes('number')
  return (
    <input
      {...line}
      inputMode={isNumber ? 'decimal' : 'text'}
      autocomplete="off"
      placeholder={String(schema.examples?.[0] ?? '')}
    />
  )
}

/** Error of a field, or of a member of its list. @param path as in the errors of the service: `lines[3].quantity` */
export function errorAt(errors: readonly FieldError[] = [], path: string): FieldError | undefined {
  return errors.find(({ field }) => field === path || field.startsWith(`${path}[`))
}

/** Title of a field in its error, with the index of the member that is wrong: `tag_ids[1]`. */
function titleOf({ field }: FieldError, name: string): string {
  return title(name) + (/\[\d+\]$/.exec(field)?.[0] ?? '')
}

/** Hint about the format of the text in an input, which descriptions do not explain. */
function hintOf(schema: Schema): string {
  if (isList(schema)) return 'One value in each line.'
  const [example] = schema.examples ?? []
  return isJson(schema) ? `JSON${example === undefined ? '.' : `, such as ${JSON.stringify(example)}`}` : ''
}

/** The resource of a foreign key, or of a list of keys, and the label of its records, if the user may read them. */
function useReferred(schema: Schema): { readonly target: Resource; readonly label: Field } | undefined {
  const { model, user } = useSession()
  const target = model.resources.get(schema['x-resource'] ?? '')
  const label = target && mayRead(target, user) ? labelField(target) : undefined
  return target && label && { target, label }
}

/** Whether a schema is text of any length. Dates and decimals have a format or pattern. */
function isUnbounded(schema: Schema): boolean {
  const { maxLength, format, pattern } = schema
  const isPlain = maxLength === undefined && format === undefined && pattern === undefined
  return isPlain && typesOf(schema).includes('string') && schema['x-resource'] === undefined
}
