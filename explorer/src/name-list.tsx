import { type NameGroup, wordsOfMember } from './aggregate'

interface NameListProps {
  /** Label of the list, such as `Group by`. */
  readonly label: string
  readonly names: readonly string[]
  readonly options: readonly NameGroup[]
  /** Minimum and maximum number of names. */
  readonly min: number
  readonly max: number
  readonly onChange: (names: readonly string[]) => void
}

/** Names of a parameter, each with a button to remove it, and a form to add one. */
export function NameList({ label, names, options, min, max, onChange }: NameListProps) {
  const free = options
    .map((group) => ({ ...group, names: group.names.filter((name) => !names.includes(name)) }))
    .filter((group) => group.names.length > 0)
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    onChange([...names, String(new FormData(event.currentTarget as HTMLFormElement).get('name'))])
  }
  return (
    <div class="names">
      {names.length > 0 && (
        <ul aria-label={label}>
          {names.map((name) => (
            <li key={name}>
              {wordsOfMember(name)}
              {names.length > min && (
                <button
                  type="button"
                  aria-label={`Remove ${wordsOfMember(name)}`}
                  onClick={() => onChange(names.filter((other) => other !== name))}
                >
                  ×
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {free.length > 0 && names.length < max && (
        <form onSubmit={add}>
          <label class="inline">
            {label}
            <select name="name">
              {free.map((group) => (
                <optgroup key={group.label} label={group.label}>
                  {group.names.map((name) => (
                    <option key={name} value={name}>
                      {wordsOfMember(name)}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
          </label>
          <button type="submit" aria-label={`Add: ${label}`}>
            Add
          </button>
        </form>
      )}
    </div>
  )
}
