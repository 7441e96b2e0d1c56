import { type Field, title } from './model'
import { links } from './route'
import { useSession } from './session'

/** Longest text of a table's cell, in characters. */
const cellLength = 120

interface ValueProps {
  readonly field: Field
  readonly value: unknown
  /** Of the record that a foreign key names. */
  readonly label?: string | undefined
  /** Whether all of a long text is shown. */
  readonly whole?: boolean
}

/** A value of a record; a foreign key leads to its record. */
export function Value({ field, value, label, whole = false }: ValueProps) {
  const { model } = useSession()
  const target = field.schema['x-resource']
  if (value === null || value === undefined) return <span class="quiet">null</span>
  if (target !== undefined && model.resources.has(target)) {
    return (
      <a
        href={links.record(target, value)}
        aria-label={[title(field.name), label, String(value)].filter(Boolean).join(' ')}
      >
        {label === undefined ? String(value) : <Label id={value} text={label} />}
      </a>
    )
  }
  const text = typeof value === 'object' ? JSON.stringify(value, null, whole ? 2 : 0) : String(value)
  if (whole) return <span class={typeof value === 'object' ? 'whole json' : 'whole'}>{text}</span>
  return <>{text.length > cellLength ? `${text.slice(0, cellLength)}…` : text}</>
}

function Label({ id, text }: { readonly id: unknown; readonly text: string }) {
  return (
    <>
      {text} <span class="quiet">{String(id)}</span>
    </>
  )
}
