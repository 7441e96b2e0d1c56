import { columnsOf } from './column'
import { typesOf } from './document'
import { useLabels } from './labels'
import { type Field, type Resource, title, valueAt } from './model'
import { fromStart, go, links } from './route'
import { useSession } from './session'
import { Value } from './value'

interface TableProps {
  readonly resource: Resource
  readonly query: URLSearchParams
  readonly records: readonly { readonly id: unknown }[]
  readonly isBusy: boolean
}

/** Table of records, with a column for each field and for the chosen fields of related records. */
export function Table({ resource, query, records, isBusy }: TableProps) {
  const { model } = useSession()
  const { name } = resource
  const columns = columnsOf(model, resource, query)
  const labelOf = useLabels(resource, records)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users
    <section class="table" tabIndex={0} aria-label={`Records of ${name}`} aria-busy={isBusy}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <SortableHeader
                key={column.name}
                name={column.name}
                description={column.field.schema.description}
                isSortable={column.isSortable}
                isNumber={isNumber(column.field)}
                resource={resource}
                query={query}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={String(record.id)}>
              {columns.map((column) => (
                <td key={column.name} class={isNumber(column.field) ? 'number' : undefined}>
                  {column.name === 'id' ? (
                    <a href={links.record(name, record.id)} aria-label={`${name} ${String(record.id)}`}>
                      {String(record.id)}
                    </a>
                  ) : (
                    <Value
                      field={column.field}
                      value={valueAt(record, column.path)}
                      label={column.path === column.field.path ? labelOf(column.field, record) : undefined}
                    />
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

interface HeaderProps {
  /** As in the parameter `ordering`. */
  readonly name: string
  readonly label?: string
  readonly description?: string | undefined
  readonly isSortable: boolean
  readonly isNumber: boolean
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Column header. Clicks switch between ascending, descending and the default ordering. */
export function SortableHeader({ name, label = title(name), description = '', ...props }: HeaderProps) {
  const { isSortable, resource, query } = props
  const className = props.isNumber ? 'number' : undefined
  const ordering = query.get('ordering')
  const direction = ordering === name ? 'ascending' : ordering === `-${name}` ? 'descending' : undefined
  if (!isSortable)
    return (
      <th scope="col" class={className}>
        {label}
      </th>
    )
  const sort = (): void => {
    const next = fromStart(query)
    if (direction === 'descending') next.delete('ordering')
    else next.set('ordering', direction === undefined ? name : `-${name}`)
    go(links.list(resource.name, next))
  }
  return (
    <th scope="col" aria-sort={direction ?? 'none'} class={className}>
      <button type="button" onClick={sort} title={description}>
        {label}
        <span aria-hidden="true">{direction === 'ascending' ? ' ▲' : direction === 'descending' ? ' ▼' : ''}</span>
      </button>
    </th>
  )
}
