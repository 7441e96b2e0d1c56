import { countOf, type Resource } from './model'
import { fromStart, go, links } from './route'

/** `meta` of a list: paths of the next and previous page, empty if there is none. */
export interface PageMeta {
  readonly page: number
  readonly next: string
  readonly previous: string
  /** Number of records on all pages; only with `count` in the query. */
  readonly total?: number
}

interface PagerProps {
  readonly resource: Resource
  readonly query: URLSearchParams
  readonly meta: PageMeta
  /** What the pages contain. Only records can be counted. */
  readonly unit: 'Records' | 'Groups'
}

/** Links to the next and previous page, the number of records, and a select box for the page size. */
export function Pager({ resource, query, meta, unit }: PagerProps) {
  const { name, limits, counts } = resource
  const linkTo = (path: string): string => {
    const next = new URLSearchParams(path.slice(path.indexOf('?') + 1))
    // The page has added names of related records to the request.
    next.delete('include')
    for (const include of query.getAll('include')) next.append('include', include)
    return links.list(name, next)
  }
  const limit = query.get('limit') ?? String(limits.default)
  const sizes = [...new Set([5, 10, 20, 50, 100, limits.default, Number(limit)])].filter((size) => size <= limits.max)
  const resize = (event: Event): void => {
    const next = fromStart(query)
    next.set('limit', (event.currentTarget as HTMLSelectElement).value)
    go(links.list(name, next))
  }
  const count = (): void => {
    const next = new URLSearchParams(query)
    next.set('count', 'exact')
    go(links.list(name, next))
  }
  return (
    <nav class="pager" aria-label="Pages">
      {meta.previous === '' ? <span class="quiet">Previous</span> : <a href={linkTo(meta.previous)}>Previous</a>}
      <span>Page {meta.page}</span>
      {meta.next === '' ? <span class="quiet">Next</span> : <a href={linkTo(meta.next)}>Next</a>}
      {meta.total === undefined ? (
        counts &&
        unit === 'Records' && (
          <button type="button" onClick={count}>
            Count
          </button>
        )
      ) : (
        <span role="status">{countOf(meta.total)}</span>
      )}
      <label class="inline">
        {unit} per page
        <select value={limit} onChange={resize}>
          {sizes
            .toSorted((one, other) => one - other)
            .map((size) => (
              <option key={size} value={size}>
                {size}
              </option>
            ))}
        </select>
      </label>
    </nav>
  )
}
