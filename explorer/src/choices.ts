import { useEffect, useState } from 'preact/hooks'
import { containing } from '../../src/admin/pattern'
import { type Refused, send } from './api'
import { containsOperator } from './filter-field'
import { type Field, type Resource, valueAt } from './model'
import { pathOf } from './route'
import { type User, useSession } from './session'

/** A record that a foreign key can refer to. */
export interface Choice {
  readonly key: string
  readonly label: string
}

/** Number of records that a search shows. */
const maxChoices = 10

/** Time without a key press after which a search is sent, in milliseconds. */
const typingPauseMs = 200

/** Query of a list of the records that match a text: by text search, or else by a pattern for their label. */
function queryFor({ searches, orderings, filters }: Resource, { name }: Field, text: string): URLSearchParams {
  const query = new URLSearchParams({ limit: String(maxChoices) })
  if (orderings.has(name)) query.set('ordering', name)
  if (text === '') return query
  const filter = filters.find((one) => one.name === name)
  const operator = filter && containsOperator(filter)
  if (searches) query.set('search', text)
  else if (operator) query.set(`${name}__${operator}`, containing(text))
  return query
}

/** Result of a search. */
interface Found {
  readonly text: string
  readonly choices: readonly Choice[]
  /** The user to whom the service has refused the records; null if it has returned them. */
  readonly refused: User | undefined | null
}

/**
 * Searches records of a resource.
 * @param text undefined for no search
 * @returns undefined while the search runs; null if the user may not read the records
 */
export function useChoices(
  resource: Resource,
  label: Field,
  text: string | undefined,
): readonly Choice[] | undefined | null {
  const { user } = useSession()
  const [found, setFound] = useState<Found>()
  useEffect(() => {
    if (text === undefined) return
    let isCurrent = true
    const show = (choices: readonly Choice[], refused: User | undefined | null): void => {
      if (isCurrent) setFound({ text, choices, refused })
    }
    const search = (): Promise<void> =>
      send({ method: 'GET', path: pathOf(`/${resource.name}/`, queryFor(resource, label, text)) }, user).then(
        ({ json }) => show(choicesIn(json, label), null),
        ({ status }: Refused) => show([], status === 401 || status === 403 ? user : null),
      )
    const timer = setTimeout(search, text === '' ? 0 : typingPauseMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [resource, label, text, user])
  if (found !== undefined && found.refused !== null && found.refused === user) return null
  return found?.text === text ? found?.choices : undefined
}

function choicesIn(json: unknown, label: Field): readonly Choice[] {
  const { objects = [] } = Object(json) as { readonly objects?: readonly { readonly id: unknown }[] }
  return objects.map((one) => ({ key: String(one.id), label: String(valueAt(one, label.path) ?? '') }))
}
