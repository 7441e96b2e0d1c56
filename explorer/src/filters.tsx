import { useId, useState } from 'preact/hooks'
import type { Schema } from './document'
import {
  alternativesIn,
  type FilterField,
  filterName,
  findFilter,
  operators,
  optional,
  withAlternative,
} from './filter-field'
import { type Resource, title } from './model'
import { fromStart, go, links } from './route'

interface FiltersProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Parameters that are not shown as filters. `or`, `and` and `not` are. */
const others: readonly string[] = ['ordering', 'limit', 'page', ...optional]

/** Text of a filter, such as `population ≥ 5`. Unknown filters are shown too, so that they can be removed. */
function wordsOf(filters: readonly FilterField[], name: string, value: string): string {
  const found = findFilter(filters, name)
  if (found !== undefined) return `${title(found.field.name)} ${operators[found.operator]} ${value}`
  const alternatives = name === 'or' ? alternativesIn(value) : undefined
  return alternatives?.map(([one, text]) => wordsOf(filters, one, text)).join(' or ') ?? `${name} = ${value}`
}

/** Filters of a list, each with buttons to remove it and to add an alternative, and a form to add a filter. */
export function Filters({ resource, query }: FiltersProps) {
  /** The open form: `instead` is the index of the filter to add an alternative to; undefined for a new filter. */
  const [form, setForm] = useState<{ readonly instead: number | undefined } | undefined>()
  const active = [...query].flatMap(([name, value], index) => {
    const found = findFilter(resource.filters, name)
    if (!found && others.includes(name)) return []
    const mayAdd = found !== undefined || (name === 'or' && alternativesIn(value) !== undefined)
    return [{ words: wordsOf(resource.filters, name, value), index, mayAdd }]
  })
  const show = (next: URLSearchParams): void => {
    // After the change, the index may be that of another filter.
    if (form?.instead !== undefined) setForm(undefined)
    go(links.list(resource.name, fromStart(next)))
  }
  const remove = (index: number): void => show(new URLSearchParams([...query].filter((_, at) => at !== index)))
  const add = (name: string, value: string): void => {
    const instead = form?.instead
    show(
      instead === undefined
        ? new URLSearchParams([...query, [name, value]])
        : withAlternative(query, instead, name, value),
    )
  }
  const isNew = form !== undefined && form.instead === undefined
  return (
    <div class="filters">
      {resource.searches && (
        <SearchBox
          key={query.get('search')}
          words={query.get('search') ?? ''}
          onSearch={(words) => {
            const next = new URLSearchParams(query)
            next.delete('search')
            if (words.trim() !== '') next.set('search', words)
            show(next)
          }}
        />
      )}
      {active.length > 0 && (
        <ul aria-label="Filters">
          {active.map(({ words, index, mayAdd }) => (
            <li key={index}>
              {words}
              {mayAdd && (
                <button
                  type="button"
                  aria-expanded={form?.instead === index}
                  onClick={() => setForm(form?.instead === index ? undefined : { instead: index })}
                  aria-label={`Or another filter instead of ${words}`}
                >
                  or…
                </button>
              )}
              <button type="button" onClick={() => remove(index)} aria-label={`Remove the filter ${words}`}>
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <button type="button" aria-expanded={isNew} onClick={() => setForm(isNew ? undefined : { instead: undefined })}>
        Add a filter
      </button>
      {form && <FilterForm resource={resource} onAdd={add} />}
    </div>
  )
}

interface SearchBoxProps {
  readonly words: string
  readonly onSearch: (words: string) => void
}

function SearchBox({ words, onSearch }: SearchBoxProps) {
  const search = (event: SubmitEvent): void => {
    event.preventDefault()
    onSearch(String(new FormData(event.currentTarget as HTMLFormElement).get('search')))
  }
  return (
    <search>
      <form class="row" onSubmit={search}>
        <input type="search" name="search" aria-label="Words" defaultValue={words} />
        <button type="submit">Search</button>
      </form>
    </search>
  )
}

interface FilterFormProps {
  readonly resource: Resource
  readonly onAdd: (name: string, value: string) => void
}

function FilterForm({ resource, onAdd }: FilterFormProps) {
  const [name, setName] = useState(resource.filters[0]?.name ?? '')
  const [operator, setOperator] = useState('eq')
  const field = resource.filters.find((one) => one.name === name)
  if (field === undefined) return null
  const chosen = field.operators.has(operator) ? operator : ([...field.operators.keys()][0] ?? 'eq')
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get('value'))
    onAdd(filterName(field.name, chosen), value)
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

/** Groups fields by the path of their relation. */
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

/** Hints for the values of some operators. */
const hints: Readonly<Record<string, string>> = {
  in: 'with commas between them',
  like: '% stands for any text',
  ilike: '% stands for any text',
}
