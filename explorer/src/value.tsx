import { shownDateTime } from './date-time'
import { isDateTime } from './document'
import { type Field, isNumber, title } from './model'
import { links } from './route'
import { useSession } from './session'

/** Maximum number of characters in a cell of a table. */
const cellLength = 120

interface ValueProps {
  readonly field: Field
  readonly value: unknown
  /** Label of the record that a foreign key refers to. */
  readonly label?: string | undefined
  /** Whether long text is shown in full. */
  readonly whole?: boolean
  /** Link of the value: that to the record whose label it is. */
  readonly link?: string | undefined
}

/** A value of a record. A foreign key is a link to its record. */
export function Value({ field, value, label, whole = false, link }: ValueProps) {
  const { model, isLocalTime } = useSession()
  // The label of a record may be its key.
  const name = label === String(value) ? undefined : label
  const target = field.schema['x-resource']
  if (value === null || value === undefined) return <span class="quiet">null</span>
  if (target !== undefined && model.resources.has(target)) {
    return (
      <a
        href={links.record(target, value)}
        aria-label={[title(field.name), name, String(value)].filter(Boolean).join(' ')}
      >
        {name === undefined ? String(value) : <Label id={value} text={name} />}
      </a>
    )
  }
  const text = typeof value === 'object' ? JSON.stringify(value, null, whole ? 2 : 0) : String(value)
  if (isNumber(field)) return <>{grouped(text)}</>
  if (isDateTime(field.schema)) return <>{shownDateTime(text, isLocalTime)}</>
  if (whole) return <span class={typeof value === 'object' ? 'whole json' : 'whole'}>{text}</span>
  const short = text.length > cellLength ? `${text.slice(0, cellLength)}…` : text
  return <>{link === undefined || text === '' ? short : <a href={link}>{short}</a>}</>
}

/** Number with thousands separators if it has five or more digits, so that years have none. */
export function grouped(text: string): string {
  return text.replace(/^-?\d{5,}/, (digits) => digits.replaceAll(/\B(?=(\d{3})+$)/g, ','))
}

function Label({ id, text }: { readonly id: unknown; readonly text: string }) {
  return (
    <>
      {text} <span class="quiet">{String(id)}</span>
    </>
  )
}
