/** Which records of a list are selected. */
export interface Selection {
  /** Ids of the selected records. */
  readonly selected: ReadonlySet<string>
  readonly canSelect: (record: unknown) => boolean
  readonly onChange: (selected: ReadonlySet<string>) => void
}

/** A record of a list. */
interface Listed {
  readonly id: unknown
}

/** Copy of the selection with these ids, or without them. */
function changed({ selected }: Selection, ids: readonly string[], isSelected: boolean): ReadonlySet<string> {
  if (isSelected) return new Set([...selected, ...ids])
  return new Set([...selected].filter((id) => !ids.includes(id)))
}

interface SelectAllProps {
  readonly selection: Selection
  /** The records of the page. */
  readonly records: readonly Listed[]
}

/** Header with a check box for all records of the page. */
export function SelectAll({ selection, records }: SelectAllProps) {
  const ids = records.filter(selection.canSelect).map(({ id }) => String(id))
  const count = ids.filter((id) => selection.selected.has(id)).length
  return (
    <th scope="col" class="select">
      <label>
        <span class="hidden">Select all on this page</span>
        <input
          type="checkbox"
          checked={count > 0 && count === ids.length}
          indeterminate={count > 0 && count < ids.length}
          disabled={ids.length === 0}
          onChange={(event) => selection.onChange(changed(selection, ids, event.currentTarget.checked))}
        />
      </label>
    </th>
  )
}

interface SelectOneProps {
  readonly selection: Selection
  readonly record: Listed
  /** Name of the resource. */
  readonly name: string
}

/** Cell with a check box for one record. It is empty if the record cannot be selected. */
export function SelectOne({ selection, record, name }: SelectOneProps) {
  const id = String(record.id)
  return (
    <td class="select">
      {selection.canSelect(record) && (
        <label>
          <span class="hidden">
            Select {name} {id}
          </span>
          <input
            type="checkbox"
            checked={selection.selected.has(id)}
            onChange={(event) => selection.onChange(changed(selection, [id], event.currentTarget.checked))}
          />
        </label>
      )}
    </td>
  )
}
