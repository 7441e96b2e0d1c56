import { typesOf } from './document'
import { Filters } from './filters'
import { labelKey, useLabels } from './labels'
import { type Field, type Resource, title, valueAt } from './model'
import { NewLink } from './new-link'
import { type PageMeta, Pager } from './pager'
import { Problem } from './problem'
import { fromStart, go, links } from './route'
import { useRead } from './session'
import { Value } from './value'

interface ListProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

interface Page {
  readonly meta: PageMeta
  readonly objects: readonly { readonly id: unknown }[]
}

const none: readonly { readonly id: unknown }[] = []

/** A page of records. Filters, ordering and paging are in the URL. */
export function List({ resource, query }: ListProps) {
  const { name, description } = resource
  const text = String(query)
  const loaded = useRead(`/${name}/${text === '' ? '' : `?${text}`}`)
  const page = loaded.state === 'done' ? (loaded.reply.json as Page) : undefined
  const records = page?.objects ?? none
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{name}</h1>
        <NewLink resource={resource} initial={query} />
      </div>
      <p class="quiet">{description}</p>
      <Filters resource={resource} query={query} />
      {resource.relatedOrderings.length > 0 && <Ordering resource={resource} query={query} />}
      {loaded.state === 'failed' ? (
        <Problem error={loaded.error} />
      ) : (
        <Table resource={resource} query={query} records={records} isBusy={loaded.state === 'loading'} />
      )}
      {page && <Pager resource={resource} query={query} meta={page.meta} />}
    </>
  )
}

/** Select box for the ordering, by a field of the records or of related ones. */
function Ordering({ resource, query }: ListProps) {
  const [, hyphen = '', name = ''] = /^(-?)(.*)$/.exec(query.get('ordering') ?? '') ?? []
  const sort = (ordering: string): void => {
    const next = fromStart(query)
    if (ordering === '') next.delete('ordering')
    else next.set('ordering', ordering)
    go(links.list(resource.name, next))
  }
  const own = resource.fields.map((field) => field.name).filter((one) => resource.orderings.has(one))
  const names = ['', ...own.filter((one) => one !== 'id'), ...resource.relatedOrderings]
  return (
    <div class="ordering">
      <label class="inline">
        Order by
        <select value={name} onChange={({ currentTarget: { value } }) => sort(value === '' ? '' : hyphen + value)}>
          {/* The ordering in the URL may not be one of the options. */}
          {[...new Set([...names, name])].map((one) => (
            <option key={one} value={one}>
              {one === '' ? 'id' : title(one)}
            </option>
          ))}
        </select>
      </label>
      <label class="inline">
        <input
          type="checkbox"
          checked={hyphen !== ''}
          disabled={name === ''}
          onChange={(event) => sort((event.currentTarget.checked ? '-' : '') + name)}
        />
        Descending
      </label>
    </div>
  )
}

interface TableProps extends ListProps {
  readonly records: readonly { readonly id: unknown }[]
  readonly isBusy: boolean
}

function Table({ resource, query, records, isBusy }: TableProps) {
  const { fields, name } = resource
  const labels = useLabels(records, fields)
  const labelOf = ({ schema, path }: Field, record: unknown): string | undefined =>
    labels.get(labelKey(schema['x-resource'] ?? '', valueAt(record, path)))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users
    <section class="table" tabIndex={0} aria-label={`Records of ${name}`} aria-busy={isBusy}>
      <table>
        <thead>
          <tr>
            {fields.map((field) => (
              <SortableHeader key={field.name} field={field} resource={resource} query={query} />
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={String(record.id)}>
              {fields.map((field) => (
                <td key={field.name} class={isNumber(field) ? 'number' : undefined}>
                  {field.name === 'id' ? (
                    <a href={links.record(name, record.id)} aria-label={`${name} ${String(record.id)}`}>
                      {String(record.id)}
                    </a>
                  ) : (
                    <Value field={field} value={valueAt(record, field.path)} label={labelOf(field, record)} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {!isBusy && records.length === 0 && <p class="empty">No records.</p>}
    </section>
  )
}

function isNumber({ schema }: Field): boolean {
  const isKey = schema['x-resource'] !== undefined
  return !isKey && typesOf(schema).some((type) => type === 'integer' || type === 'number')
}

interface HeaderProps extends ListProps {
  readonly field: Field
}

/** Column header. Clicks switch between ascending, descending and the default ordering. */
function SortableHeader({ field, resource, query }: HeaderProps) {
  const { name } = field
  const ordering = query.get('ordering')
  const direction = ordering === name ? 'ascending' : ordering === `-${name}` ? 'descending' : undefined
  const label = title(name)
  if (!resource.orderings.has(name)) return <th scope="col">{label}</th>
  const sort = (): void => {
    const next = fromStart(query)
    if (direction === 'descending') next.delete('ordering')
    else next.set('ordering', direction === undefined ? name : `-${name}`)
    go(links.list(resource.name, next))
  }
  return (
    <th scope="col" aria-sort={direction ?? 'none'} class={isNumber(field) ? 'number' : undefined}>
      <button type="button" onClick={sort} title={field.schema.description ?? ''}>
        {label}
        <span aria-hidden="true">{direction === 'ascending' ? ' ▲' : direction === 'descending' ? ' ▼' : ''}</span>
      </button>
    </th>
  )
}
