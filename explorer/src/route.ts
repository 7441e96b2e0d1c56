import { useEffect, useState } from 'preact/hooks'

/** Where the page is, in the fragment of its address: a list with its query, a record, or a form. */
export interface Route {
  /** Empty for the start. */
  readonly resource: string
  /** The id of a record; undefined for a list. */
  readonly id: string | undefined
  readonly form: 'create' | 'update' | undefined
  /** Of a list as it is sent; of a form the values that it begins with. */
  readonly query: URLSearchParams
}

export function readRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s)
  const [, first = '', second, edit] = path.split('/')
  const [resource, id] = [decode(first), second && decode(second)]
  // The id `+` is in a link as `%2B`.
  const isNew = second === '+'
  return {
    resource,
    id: isNew || id === '' ? undefined : id,
    form: isNew ? 'create' : edit === 'edit' ? 'update' : undefined,
    query: new URLSearchParams(query),
  }
}

/** What somebody has typed need not be one. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** A query without its place in the list, for another list. */
export function fromStart(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => name !== 'page' && name !== 'after'))
}

export const links = {
  list: (resource: string, query?: URLSearchParams | string): string => `#/${resource}${queryOf(query)}`,
  record: (resource: string, id: unknown): string => `#/${resource}/${encodeURIComponent(String(id))}`,
  edit: (resource: string, id: unknown): string => `#/${resource}/${encodeURIComponent(String(id))}/edit`,
  create: (resource: string, query?: URLSearchParams | string): string => `#/${resource}/+${queryOf(query)}`,
}

function queryOf(query: URLSearchParams | string = ''): string {
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

/** Goes where a link leads, so that the back button comes back from there. */
export function go(link: string): void {
  location.hash = link
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash))
  useEffect(() => {
    const read = (): void => setRoute(readRoute(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return route
}
