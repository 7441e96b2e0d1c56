import { Columns } from './columns'
import { Download } from './download'
import { parameterIn } from './filter-field'
import { Filters } from './filters'
import { Groups, otherView } from './groups'
import { includeFor } from './include'
import type { Resource } from './model'
import { NewLink } from './new-link'
import { Ordering } from './ordering'
import { type PageMeta, Pager } from './pager'
import { Problem } from './problem'
import { links, pathOf } from './route'
import { useRead, useSession } from './session'
import { Table } from './table'

interface ListProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

interface Page {
  readonly meta: PageMeta
  readonly objects: readonly { readonly id: unknown }[]
}

const none: Page['objects'] = []

/** A list of records, or of groups if the URL has the parameter `aggregate`. */
export function List({ resource, query }: ListProps) {
  const hasGroups = resource.aggregates !== undefined && parameterIn(resource.filters, query, 'aggregate') !== undefined
  return hasGroups ? <Groups resource={resource} query={query} /> : <Records resource={resource} query={query} />
}

/** A page of records. Filters, ordering, paging and columns of related records are in the URL. */
function Records({ resource, query }: ListProps) {
  const { name, description } = resource
  const loaded = useRead(useListPath(resource, query), true, pathOf(`/${name}/`, query))
  const page = loaded.state === 'done' ? (loaded.reply.json as Page) : undefined
  const records = page?.objects ?? none
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{name}</h1>
        <NewLink resource={resource} initial={query} />
      </div>
      <p class="quiet">{description}</p>
      <Filters resource={resource} query={query} />
      <div class="tools">
        {resource.relatedOrderings.length > 0 && <Ordering resource={resource} query={query} />}
        {resource.aggregates && (
          <a class="button" href={links.list(name, otherView(resource, query, 'count'))}>
            Group the records
          </a>
        )}
        {page && <Download resource={resource} query={query} />}
        <Columns resource={resource} query={query} />
      </div>
      {loaded.state === 'failed' ? (
        <Problem error={loaded.error} />
      ) : (
        <Table resource={resource} query={query} records={records} isBusy={loaded.state === 'loading'} />
      )}
      {page && <Pager resource={resource} query={query} meta={page.meta} unit="Records" />}
    </>
  )
}

/** Path of the request for a list: its query, with the names of the records that foreign keys refer to. */
function useListPath(resource: Resource, query: URLSearchParams): string {
  const { model, user } = useSession()
  const { filters } = resource
  const shown = parameterIn(filters, query, 'fields')?.split(',')
  const include = includeFor(model, resource, user, parameterIn(filters, query, 'include'), shown)
  const asked = new URLSearchParams(query)
  if (include !== undefined) asked.set('include', include)
  return pathOf(`/${resource.name}/`, asked)
}
