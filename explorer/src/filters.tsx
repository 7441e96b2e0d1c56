import { useId, useState } from 'preact/hooks'
import type { Schema } from './document'
import { type FilterField, filterName, findFilter, operators } from './filter-field'
import { type Resource, title } from './model'
import { fromStart, go, links } from './route'

interface FiltersProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

const paging: readonly string[] = ['ordering', 'limit', 'page', 'after']

/** The filters of a list, each with a button that takes it away, and a form that adds one. */
export function Filters({ resource, query }: FiltersProps) {
  const [isOpen, setOpen] = useState(false)
  const active = [...query].flatMap(([name, value], index) => {
    const found = findFilter(resource.filters, name)
    // One that the service does not know is there to be taken away.
    const words = found ? `${title(found.field.name)} ${operators[found.operator]} ${value}` : `${name} = ${value}`
    return found || !paging.includes(name) ? [{ words, index }] : []
  })
  const remove = (index: number): void => {
    const rest = new URLSearchParams([...query].filter((_, at) => at !== index))
    go(links.list(resource.name, fromStart(rest)))
  }
  return (
    <div class="filters">
      {active.length > 0 && (
        <ul aria-label="Filters">
          {active.map(({ words, index }) => (
            <li key={index}>
              {words}
              <button type="button" onClick={() => remove(index)} aria-label={`Remove the filter ${words}`}>
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Add a filter
      </button>
      {isOpen && <FilterForm resource={resource} query={query} />}
    </div>
  )
}

function FilterForm({ resource, query }: FiltersProps) {
  const [name, setName] = useState(resource.filters[0]?.name ?? '')
  const [operator, setOperator] = useState('eq')
  const field = resource.filters.find((one) => one.name === name)
  if (field === undefined) return null
  const chosen = field.operators.has(operator) ? operator : ([...field.operators.keys()][0] ?? 'eq')
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get('value'))
    const next = fromStart(query)
    next.append(filterName(field.name, chosen), value)
    go(links.list(resource.name, next))
  }
  return (
    <form class="row" onSubmit={add}>
      <label>
        Field
        <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {groups(resource.filters).map(([group, fields]) => (
            <optgroup key={group} label={group === '' ? resource.name : title(group)}>
              {fields.map((one) => (
                <option key={one.name} value={one.name}>
                  {title(one.name)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <label>
        Comparison
        <select value={chosen} onChange={(event) => setOperator(event.currentTarget.value)}>
          {[...field.operators.keys()].map((one) => (
            <option key={one} value={one}>
              {operators[one]}
            </option>
          ))}
        </select>
      </label>
      <Operand key={name} schema={field.operators.get(chosen) ?? {}} operator={chosen} />
      <button type="submit" class="primary">
        Filter
      </button>
    </form>
  )
}

/** By what is joined. */
function groups(filters: readonly FilterField[]): readonly (readonly [string, readonly FilterField[]])[] {
  const found = new Map<string, FilterField[]>()
  for (const field of filters) {
    const group = field.name.split('__').slice(0, -1).join('__')
    found.set(group, [...(found.get(group) ?? []), field])
  }
  return [...found]
}

function Operand({ schema, operator }: { readonly schema: Schema; readonly operator: string }) {
  const id = useId()
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String)
  const example = schema.examples?.[0]
  return (
    <div class="operand">
      <label for={id}>Value</label>
      {choices ? (
        <select id={id} name="value">
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          name="value"
          required
          aria-describedby={`${id}-hint`}
          placeholder={example === undefined ? '' : String(example)}
        />
      )}
      <small id={`${id}-hint`}>{hints[operator] ?? ''}</small>
    </div>
  )
}

/** What the values of some operators look like. */
const hints: Readonly<Record<string, string>> = {
  in: 'with commas between them',
  like: '% stands for any text',
  ilike: '% stands for any text',
}
