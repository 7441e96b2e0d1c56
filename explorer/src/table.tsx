import { typesOf } from './document'
import { useLabels } from './labels'
import { type Field, type Resource, title, valueAt } from './model'
import { fromStart, go, links } from './route'
import { Value } from './value'

interface TableProps {
  readonly resource: Resource
  readonly query: URLSearchParams
  readonly records: readonly { readonly id: unknown }[]
  readonly isBusy: boolean
}

/** Table of records, with a column for each field. */
export function Table({ resource, query, records, isBusy }: TableProps) {
  const { fields, name } = resource
  const labelOf = useLabels(resource, records)
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

interface HeaderProps extends Pick<TableProps, 'resource' | 'query'> {
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
