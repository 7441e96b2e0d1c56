import { useId } from 'preact/hooks'
import { isNullable, lineLength, type Schema, typesOf } from './document'
import { textOf } from './input'
import { type Field, labelField, type Resource, title } from './model'
import { ReferenceInput } from './reference-input'
import { mayRead, useSession } from './session'

interface FieldRowProps {
  readonly field: Field
  /** Text of the input; undefined until the user edits it. */
  readonly value: string | null | undefined
  readonly stored: unknown
  readonly error: string | undefined
  readonly onChange: (text: string | null) => void
}

/** One field of a form: label, input, description and error. */
export function FieldRow({ field, value, stored, error, onChange }: FieldRowProps) {
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

function Input({ id, schema, value, isRequired, isWrong, onChange }: InputProps) {
  const related = useRelated(schema)
  const types = typesOf(schema)
  const choices = types.includes('boolean') ? ['true', 'false'] : schema.enum?.filter((one) => one !== null).map(String)
  const common = {
    id,
    value,
    'aria-required': isRequired,
    'aria-invalid': isWrong,
    'aria-describedby': `${id}-hint${isWrong ? ` ${id}-error` : ''}`,
  }
  if (related) return <ReferenceInput {...related} value={value} onChange={onChange} common={common} />
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

/** The resource of a foreign key and the label of its records, if the user may read them. */
function useRelated(schema: Schema): { readonly target: Resource; readonly label: Field } | undefined {
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
