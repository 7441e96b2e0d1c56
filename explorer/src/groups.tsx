import { useMemo } from 'preact/hooks'
import { type Group, memberField, namesIn } from './aggregate'
import { parameterIn } from './filter-field'
import { Filters } from './filters'
import { GroupChart } from './group-chart'
import { GroupSettings } from './group-settings'
import { GroupTable } from './group-table'
import { useFetchedLabels } from './labels'
import type { Resource } from './model'
import { type PageMeta, Pager } from './pager'
import { Problem } from './problem'
import { fromStart, links, pathOf } from './route'
import { useKept, useRead, useSession } from './session'

interface GroupsProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

interface Page {
  readonly meta: PageMeta
  readonly objects: readonly Group[]
}

const none: readonly Group[] = []

/** Parameters that lists of records and lists of groups do not share, or for which they accept different names. */
const viewParameters: readonly string[] = ['fields', 'include', 'count', 'ordering', 'aggregate', 'by']

/** Query of the groups of a list, or of the records of groups: the filters and the size of a page stay. */
export function otherView(
  { filters }: Resource,
  query: URLSearchParams,
  aggregate: string | undefined,
): URLSearchParams {
  const kept = [...fromStart(query)].filter(
    ([name]) => !viewParameters.includes(name) || parameterIn(filters, query, name) === undefined,
  )
  return new URLSearchParams(aggregate === undefined ? kept : [...kept, ['aggregate', aggregate]])
}

/** Groups of records with functions of their values, as a table and a bar chart. All settings are in the URL. */
export function Groups({ resource, query }: GroupsProps) {
  const { model } = useSession()
  const functions = namesIn(query, 'aggregate')
  const by = namesIn(query, 'by')
  const keys = useMemo(() => by.map((name) => memberField(model, resource, name)), [model, resource, by.join()])
  const loaded = useRead(pathOf(`/${resource.name}/`, query))
  const page = loaded.state === 'done' ? (loaded.reply.json as Page) : undefined
  const groups = useKept(loaded, page?.objects, `${functions} ${by}`) ?? none
  const labelOf = useFetchedLabels(groups, keys)
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{resource.name}</h1>
        <a class="button" href={links.list(resource.name, otherView(resource, query, undefined))}>
          Show the records
        </a>
      </div>
      <Filters resource={resource} query={query} />
      <GroupSettings resource={resource} query={query} />
      {loaded.state === 'failed' && <Problem error={loaded.error} isRead />}
      {by.length > 0 && <GroupChart groups={groups} keys={keys} measure={functions[0] ?? ''} labelOf={labelOf} />}
      {loaded.state !== 'failed' && (
        <GroupTable {...{ resource, query, groups, keys, functions, labelOf }} isBusy={loaded.state === 'loading'} />
      )}
      {page && <Pager resource={resource} query={query} meta={page.meta} unit="Groups" />}
    </>
  )
}
