import { type Group, wordsOfMember } from './aggregate'
import { shownDateTime } from './date-time'
import type { LabelOf } from './labels'
import type { Field, Resource } from './model'
import { useSession } from './session'
import { SortableHeader } from './table'
import { grouped, Value } from './value'

interface GroupTableProps {
  readonly resource: Resource
  readonly query: URLSearchParams
  readonly groups: readonly Group[]
  readonly keys: readonly Field[]
  readonly functions: readonly string[]
  readonly labelOf: LabelOf
  readonly isBusy: boolean
}

/** Table of groups: their keys, and the values of the functions. */
export function GroupTable({ resource, query, groups, keys, functions, labelOf, isBusy }: GroupTableProps) {
  const { isLocalTime } = useSession()
  // Dates have no time zone.
  const inWords = (text: string): string => (text.includes(':') ? shownDateTime(text, isLocalTime) : grouped(text))
  const header = (name: string, isNumber: boolean) => (
    <SortableHeader
      key={name}
      name={name}
      label={wordsOfMember(name)}
      isSortable
      isNumber={isNumber}
      {...{ resource, query }}
    />
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users
    <section class="table" tabIndex={0} aria-label={`Groups of ${resource.name}`} aria-busy={isBusy}>
      <table>
        <thead>
          <tr>
            {keys.map(({ name }) => header(name, false))}
            {functions.map((name) => header(name, true))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={JSON.stringify(keys.map(({ name }) => group[name]))}>
              {keys.map((key) => (
                <td key={key.name}>
                  <Value field={key} value={group[key.name]} label={labelOf(key, group)} />
                </td>
              ))}
              {functions.map((name) => (
                <td key={name} class="number">
                  {inWords(String(group[name]))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {!isBusy && groups.length === 0 && <p class="empty">No records.</p>}
    </section>
  )
}
