import { useMemo, useRef, useState } from 'preact/hooks'
import { parseInput, textOf } from './input'
import { useKeyLabels } from './labels'
import { type Field, type Resource, title } from './model'
import { ReferenceInput } from './reference-input'

interface KeysInputProps {
  /** The related resource, and the field by which its records are found. */
  readonly target: Resource
  readonly label: Field
  /** The list of keys. */
  readonly field: Field
  /** The keys, as the text of a list. */
  readonly value: string
  readonly onChange: (text: string) => void
  /** Id and ARIA attributes of the input. */
  readonly common: { readonly id: string; readonly 'aria-describedby': string }
}

/** Input of a list of keys: the chosen records with buttons to remove them, and a search by name that adds one. */
export function KeysInput({ target, label, field, value, onChange, common }: KeysInputProps) {
  const { schema, name } = field
  const [text, setText] = useState('')
  const area = useRef<HTMLDivElement>(null)
  const keys = useMemo(() => [parseInput(schema, value)].flat().map(String), [value])
  const labelOf = useKeyLabels(target, keys)
  const change = (next: readonly string[]): void =>
    onChange(
      textOf(
        schema,
        next.map((key) => parseInput(schema.items ?? {}, key)),
      ),
    )
  const add = (key: string): void => {
    setText('')
    if (key !== '' && !keys.includes(key)) change([...keys, key])
  }
  const remove = (key: string): void => {
    change(keys.filter((one) => one !== key))
    // The button that was pressed does not exist any more, so the focus would be lost.
    area.current?.querySelector('input')?.focus()
  }
  return (
    <div class="keys" ref={area}>
      <ul aria-label={`Chosen for ${title(name)}`}>
        {keys.map((key) => (
          <li key={key}>
            {labelOf(key) ?? ''} <span class="quiet">{key}</span>
            <button
              type="button"
              aria-label={`Remove ${labelOf(key) ?? key} from ${title(name)}`}
              onClick={() => remove(key)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <ReferenceInput target={target} label={label} value={text} onChange={setText} onCommit={add} common={common} />
      <span class="hidden" role="status">
        {keys.length} chosen
      </span>
    </div>
  )
}
