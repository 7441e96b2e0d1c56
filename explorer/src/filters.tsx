import { useId, useState } from 'preact/hooks'
import { containing } from '../../src/admin/pattern'
import { localZone, shownDateTime } from './date-time'
import { DateTimeInput, isPickable } from './date-time-input'
import { isDateTime, type Schema } from './document'
import {
  alternativesIn,
  containsOperator,
  type FilterField,
  filterName,
  findFilter,
  operators,
  optional,
  textInPattern,
  withAlternative,
} from './filter-field'
import { type Resource, title } from './model'
import { fromStart, go, links } from './route'
import { useSession } from './session'

interface FiltersProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Parameters that are not shown as filters. `or`, `and` and `not` are. */
const others: readonly string[] = ['ordering', 'limit', 'page', ...optional]

/** Comparison of the form that is not an operator of the service: it is sent as a pattern of `ilike` or `like`. */
const contains = 'contains'
const labelOf = (comparison: string): string => operators[comparison] ?? comparison

/** Comparison and text of a filter in the form. */
function comparisonOf(
  { field, operator }: { readonly field: FilterField; readonly operator: string },
  value: string,
): { readonly operator: string; readonly text: string } {
  const text = operator === containsOperator(field) ? textInPattern(value) : undefined
  return text === undefined ? { operator, text: value } : { operator: contains, text }
}

/** Text of a filter, such as `population ≥ 5`. Unknown filters are shown too, so that they can be removed. */
function wordsOf(filters: readonly FilterField[], name: string, value: string, isLocalTime: boolean): string {
  const found = findFilter(filters, name)
  if (found !== undefined) {
    const { operator, text } = comparisonOf(found, value)
    const { items, ...schema } = found.field.operators.get(found.operator) ?? {}
    const shown = isDateTime(items ?? schema) ? text.split(',').map((one) => shownDateTime(one, isLocalTime)) : [text]
    return `${title(found.field.name)} ${labelOf(operator)} ${shown}`
  }
  const alternatives = name === 'or' ? alternativesIn(value) : undefined
  return (
    alternatives?.map(([one, text]) => wordsOf(filters, one, text, isLocalTime)).join(' or ') ?? `${name} = ${value}`
  )
}

/** Filters of a list, each with buttons to remove it and to add an alternative, and a form to add a filter. */
export function Filters({ resource, query }: FiltersProps) {
  const { isLocalTime } = useSession()
  /** The open form. `index`: position in the query of the filter to change or to extend; undefined for a new filter. */
  const [form, setForm] = useState<{ readonly index?: number; readonly isChange?: boolean } | undefined>()
  const active = [...query].flatMap(([name, value], index) => {
    const found = findFilter(resource.filters, name)
    if (!found && others.includes(name)) return []
    const mayAdd = found !== undefined || (name === 'or' && alternativesIn(value) !== undefined)
    return [
      { words: wordsOf(resource.filters, name, value, isLocalTime), index, mayAdd, mayChange: found !== undefined },
    ]
  })
  const show = (next: URLSearchParams): void => {
    // After the change, the index may refer to another filter.
    if (form?.index !== undefined) setForm(undefined)
    go(links.list(resource.name, fromStart(next)))
  }
  const remove = (index: number): void => show(new URLSearchParams([...query].filter((_, at) => at !== index)))
  const add = (name: string, value: string): void => {
    const { index, isChange } = form ?? {}
    const pairs = [...query]
    if (index === undefined) show(new URLSearchParams([...pairs, [name, value]]))
    else if (isChange) show(new URLSearchParams(pairs.with(index, [name, value])))
    else show(withAlternative(query, index, name, value))
  }
  const isOpen = (index: number | undefined, isChange = false): boolean =>
    form !== undefined && form.index === index && form.isChange === isChange
  const toggle = (index: number | undefined, isChange = false): void =>
    setForm(isOpen(index, isChange) ? undefined : { ...(index !== undefined && { index }), isChange })
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
          {active.map(({ words, index, mayAdd, mayChange }) => (
            <li key={index}>
              {mayChange ? (
                <button
                  type="button"
                  aria-expanded={isOpen(index, true)}
                  onClick={() => toggle(index, true)}
                  aria-label={`Change the filter ${words}`}
                >
                  {words}
                </button>
              ) : (
                words
              )}
              {mayAdd && (
                <button
                  type="button"
                  aria-expanded={isOpen(index)}
                  onClick={() => toggle(index)}
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
      <button type="button" aria-expanded={isOpen(undefined)} onClick={() => toggle(undefined)}>
        Add a filter
      </button>
      {form && (
        <FilterForm
          key={JSON.stringify(form)}
          resource={resource}
          filter={form.isChange && form.index !== undefined ? [...query][form.index] : undefined}
          onAdd={add}
        />
      )}
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
  /** Name and value of the filter to change; undefined for a new one. */
  readonly filter: readonly [string, string] | undefined
  readonly onAdd: (name: string, value: string) => void
}

function FilterForm({ resource, filter, onAdd }: FilterFormProps) {
  const [known, value] = filter ?? ['', '']
  const found = findFilter(resource.filters, known)
  const initial = found && comparisonOf(found, value)
  const [name, setName] = useState((found?.field ?? resource.filters[0])?.name ?? '')
  const [operator, setOperator] = useState(initial?.operator)
  const field = resource.filters.find((one) => one.name === name)
  if (field === undefined) return null
  const pattern = containsOperator(field)
  const comparisons = [...(pattern === undefined ? [] : [contains]), ...field.operators.keys()]
  const chosen = comparisons.find((one) => one === operator) ?? comparisons[0] ?? 'eq'
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get('value'))
    if (chosen === contains && pattern !== undefined) onAdd(filterName(name, pattern), containing(text))
    else onAdd(filterName(name, chosen), text)
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
          {comparisons.map((one) => (
            <option key={one} value={one}>
              {labelOf(one)}
            </option>
          ))}
        </select>
      </label>
      <Operand key={name} schema={field.operators.get(chosen) ?? {}} operator={chosen} initial={initial?.text ?? ''} />
      <button type="submit" class="primary">
        {found ? 'Change' : 'Filter'}
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

interface OperandProps {
  readonly schema: Schema
  readonly operator: string
  /** The initial value. */
  readonly initial: string
}

function Operand({ schema, operator, initial }: OperandProps) {
  const id = useId()
  const { isLocalTime } = useSession()
  const [text, setText] = useState(initial)
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String)
  const example = schema.examples?.[0]
  const hasPicker = isDateTime(schema) && isPickable(text)
  const common = { id, required: true, 'aria-describedby': `${id}-hint` }
  const line = {
    ...common,
    name: 'value',
    value: text,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => setText(event.currentTarget.value),
  }
  return (
    <div class="operand">
      <label for={id}>
        Value
        {hasPicker && <span class="required"> {isLocalTime ? localZone() : 'UTC'}</span>}
      </label>
      {choices ? (
        <select id={id} name="value" defaultValue={text}>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : hasPicker ? (
        <>
          <DateTimeInput common={common} value={text} onChange={setText} />
          <input type="hidden" name="value" value={text} />
        </>
      ) : schema.format === 'date' && /^$|^\d{4}-\d\d-\d\d$/.test(text) ? (
        <input {...line} type="date" />
      ) : (
        <input {...line} placeholder={example === undefined ? '' : String(example)} />
      )}
      <small id={`${id}-hint`}>
        {hints[operator] ?? ''}
        {operator === 'in' &&
          schema.items &&
          isDateTime(schema.items) &&
          ', in UTC or with an offset: 2024-02-29T10:20:30+01:00'}
      </small>
    </div>
  )
}

/** Hints for the values of some operators. */
const hints: Readonly<Record<string, string>> = {
  in: 'with commas between them',
  like: '% stands for any text',
  ilike: '% stands for any text',
}
