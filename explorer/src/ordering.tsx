import { type Resource, title } from './model'
import { fromStart, go, links } from './route'

interface OrderingProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Select box for the ordering, by a field of the records or of related ones. */
export function Ordering({ resource, query }: OrderingProps) {
  const [, hyphen = '', name = ''] = /^(-?)(.*)$/.exec(query.get('ordering') || 'id') ?? []
  const sort = (ordering: string): void => {
    const next = fromStart(query)
    if (ordering === 'id') next.delete('ordering')
    else next.set('ordering', ordering)
    go(links.list(resource.name, next))
  }
  const own = resource.fields.map((field) => field.name).filter((one) => resource.orderings.has(one))
  const names = ['id', ...own.filter((one) => one !== 'id'), ...resource.relatedOrderings]
  return (
    <div class="ordering">
      <label class="inline">
        Order by
        <select value={name} onChange={({ currentTarget: { value } }) => sort(hyphen + value)}>
          {/* The ordering in the URL may not be one of the options. */}
          {[...new Set([...names, name])].map((one) => (
            <option key={one} value={one}>
              {title(one)}
            </option>
          ))}
        </select>
      </label>
      <label class="inline">
        <input
          type="checkbox"
          checked={hyphen !== ''}
          onChange={(event) => sort((event.currentTarget.checked ? '-' : '') + name)}
        />
        Descending
      </label>
    </div>
  )
}
