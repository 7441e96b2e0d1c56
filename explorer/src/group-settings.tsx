import { functionNames, keyNames, namesIn } from './aggregate'
import type { Resource } from './model'
import { NameList } from './name-list'
import { fromStart, go, links } from './route'
import { useSession } from './session'

interface GroupSettingsProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** The fields to group by, and the functions. */
export function GroupSettings({ resource, query }: GroupSettingsProps) {
  const { model, user } = useSession()
  const functions = namesIn(query, 'aggregate')
  const by = namesIn(query, 'by')
  const change = (nextFunctions: readonly string[], nextBy: readonly string[]): void => {
    const next = fromStart(query)
    next.set('aggregate', nextFunctions.join())
    if (nextBy.length > 0) next.set('by', nextBy.join())
    else next.delete('by')
    const ordering = query.get('ordering')?.replace(/^-/, '')
    if (ordering !== undefined && ![...nextFunctions, ...nextBy].includes(ordering)) next.delete('ordering')
    go(links.list(resource.name, next))
  }
  const { maxFunctions = 1, maxKeys = 1 } = resource.aggregates ?? {}
  return (
    <div class="group-settings">
      <NameList
        label="Group by"
        names={by}
        options={keyNames(model, resource, user)}
        min={0}
        max={maxKeys}
        onChange={(names) => change(functions, names)}
      />
      <NameList
        label="Function"
        names={functions}
        options={functionNames(model, resource, user)}
        min={1}
        max={maxFunctions}
        onChange={(names) => change(names, by)}
      />
    </div>
  )
}
