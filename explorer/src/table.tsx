import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { columnsOf } from './column'
import { useLabels } from './labels'
import { isNumber, labelField, type Resource, title, valueAt } from './model'
import { fromStart, go, links } from './route'
import { SelectAll, type Selection, SelectOne } from './selection'
import { useSession } from './session'
import { Value } from './value'

interface TableProps {
  readonly resource: Resource
  readonly query: URLSearchParams
  readonly records: readonly { readonly id: unknown }[]
  readonly isBusy: boolean
  /** Undefined if the user can do nothing with several records. */
  readonly selection: Selection | undefined
}

/**
 * Table of records, with columns for their fields and for the chosen fields of related records. If records can be selected,
 * each has a check box.
 */
export function Table({ resource, query, records, isBusy, selection }: TableProps) {
  const { model } = useSession()
  const { name } = resource
  const columns = columnsOf(model, resource, query)
  const labelOf = useLabels(resource, records)
  const label = labelField(resource)
  const deleted = resource.restores ? query.get('deleted') : null
  const names = `${selection !== undefined} ${columns.map((column) => column.name)}`
  const table = useSteadyColumns(names, !isBusy && records.length > 0)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users
    <section class="table" tabIndex={0} aria-label={`Records of ${name}`} aria-busy={isBusy}>
      <table ref={table}>
        <thead>
          <tr>
            {selection && <SelectAll selection={selection} records={records} />}
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
              {selection && <SelectOne selection={selection} record={record} name={name} />}
              {columns.map((column) => (
                <td key={column.name} class={isNumber(column.field) ? 'number' : undefined}>
                  {column.name === 'id' ? (
                    <a href={links.record(name, record.id, deleted)} aria-label={`${name} ${String(record.id)}`}>
                      {String(record.id)}
                    </a>
                  ) : (
                    <Value
                      link={column.name === label?.name ? links.record(name, record.id, deleted) : undefined}
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
      {records.length === 0 && <p class={isBusy ? 'empty loading' : 'empty'}>{isBusy ? 'Loading…' : 'No records.'}</p>}
    </section>
  )
}

/**
 * Prevents the columns of a table from becoming narrower when the records or their order change.
 * @param names names of the columns: after a change, and after the window is resized, their widths are measured again
 * @param hasRows whether the table shows rows, so that the widths are measured
 */
function useSteadyColumns(names: string, hasRows: boolean) {
  const table = useRef<HTMLTableElement>(null)
  const headers = (): readonly HTMLElement[] => [...(table.current?.querySelectorAll('th') ?? [])]
  const clear = (): void => {
    for (const { style } of headers()) style.minWidth = ''
  }
  useLayoutEffect(clear, [names])
  useLayoutEffect(() => {
    if (!hasRows) return
    // All widths are read before the first one is set, which would change the others.
    const widths = headers().map((header) => header.getBoundingClientRect().width)
    for (const [index, { style }] of headers().entries()) style.minWidth = `${widths[index]}px`
  })
  useEffect(() => {
    for (const event of ['resize', 'beforeprint']) addEventListener(event, clear)
    return () => {
      for (const event of ['resize', 'beforeprint']) removeEventListener(event, clear)
    }
  }, [])
  return table
}

interface HeaderProps {
  /** Name in the parameter `ordering`. */
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
      </button>
    </th>
  )
}
