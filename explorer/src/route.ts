import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Route of the page, from the fragment of its URL: a list with its query, a record, or a form. */
export interface Route {
  /** Name of the resource; empty for the start page. */
  readonly resource: string
  /** The id of a record; undefined for a list. */
  readonly id: string | undefined
  readonly form: 'create' | 'update' | undefined
  /** Query string of a list, or initial values of a form. */
  readonly query: URLSearchParams
}

function readRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s)
  const [, first = '', second, edit] = path.split('/')
  const [resource, id] = [decode(first), second && decode(second)]
  // `+` means a new record. Links to a record with the id `+` contain `%2B`.
  const isNew = second === '+'
  return {
    resource,
    id: isNew || id === '' ? undefined : id,
    form: isNew ? 'create' : edit === 'edit' ? 'update' : undefined,
    query: new URLSearchParams(query),
  }
}

/** Decodes a part of the URL. The user may have typed an invalid encoding. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Query without page number and cursor, for a list that has changed. */
export function fromStart(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => name !== 'page' && name !== 'after'))
}

/** Path of a request, with a query if there is one. The syntax of groups stays readable: it needs no encoding. */
export function pathOf(path: string, query: URLSearchParams | Readonly<Record<string, string>>): string {
  const text = String(new URLSearchParams(query)).replaceAll(/%(?:28|29|2C|3A)/g, decodeURIComponent)
  return text === '' ? path : `${path}?${text}`
}

export const links = {
  list: (resource: string, query?: URLSearchParams | string): string => `#/${resource}${queryOf(query)}`,
  /** @param deleted value of the parameter `deleted` of the list that shows the record */
  record: (resource: string, id: unknown, deleted?: string | null): string =>
    `#/${resource}/${encodeURIComponent(String(id))}${queryOf(deleted ? `deleted=${deleted}` : '')}`,
  edit: (resource: string, id: unknown): string => `#/${resource}/${encodeURIComponent(String(id))}/edit`,
  create: (resource: string, query?: URLSearchParams | string): string => `#/${resource}/+${queryOf(query)}`,
}

function queryOf(query: URLSearchParams | string = ''): string {
  const text = String(query)
  return text === '' ? '' : `?${text}`
}

/** Navigates to a link and adds an entry to the browser's history. */
export function go(link: string): void {
  location.hash = link
  // The browser dispatches the event later. A second click in the meantime would use the query from before the first one.
  dispatchEvent(new Event('hashchange'))
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash))
  const shown = useRef(location.hash)
  // An effect that runs after painting would miss a change of the hash between the first rendering and the painting.
  useLayoutEffect(() => {
    const read = (): void => {
      if (location.hash === shown.current) return
      if (hasEdits && !confirm('Discard what you have entered?')) {
        history.pushState(null, '', shown.current || '#')
        return
      }
      shown.current = location.hash
      setRoute(readRoute(location.hash))
    }
    // The fragment may have changed since the first rendering.
    read()
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return route
}

/** Whether a form has input that is not saved. */
let hasEdits = false

/** Asks the user before the page is left, or shows something else, while a form has input that is not saved. */
export function useEdits(isEdited: boolean): void {
  // An effect that runs after painting would be too late for a user who leaves the page immediately after an input.
  useLayoutEffect(() => {
    if (!isEdited) return
    const ask = (event: Event): void => event.preventDefault()
    hasEdits = true
    addEventListener('beforeunload', ask)
    return () => {
      hasEdits = false
      removeEventListener('beforeunload', ask)
    }
  }, [isEdited])
}

/** Navigates after a form has been saved. */
export function leaveForm(link: string): void {
  hasEdits = false
  go(link)
}
