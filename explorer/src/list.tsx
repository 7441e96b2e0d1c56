import { useEffect, useRef, useState } from 'preact/hooks'
import { Bulk, mayWriteMany } from './bulk'
import { Columns } from './columns'
import { Download } from './download'
import { parameterIn } from './filter-field'
import { Filters } from './filters'
import { useFocusEffect } from './focus'
import { FormButton, type ListForm } from './form-button'
import { Groups, otherView } from './groups'
import { Import } from './import'
import { includeFor } from './include'
import { useChanges } from './live'
import type { Resource } from './model'
import { NewLink } from './new-link'
import { Ordering } from './ordering'
import { type PageMeta, Pager } from './pager'
import { Problem } from './problem'
import { links, pathOf } from './route'
import { belongsToAnother, mayWrite, useKept, useRead, useSession } from './session'
import { Table } from './table'

interface ListProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

export interface Page {
  readonly meta: PageMeta
  readonly objects: readonly { readonly id: unknown }[]
}

const none: Page['objects'] = []

/** A list of records, or of groups if the URL has the parameter `aggregate`. */
export function List({ resource, query }: ListProps) {
  const hasGroups = resource.aggregates !== undefined && parameterIn(resource.filters, query, 'aggregate') !== undefined
  return hasGroups ? <Groups resource={resource} query={query} /> : <Records resource={resource} query={query} />
}

/** State of the forms of a list. */
interface State {
  /** Ids of the selected records. */
  readonly selected: ReadonlySet<string>
  readonly form: ListForm | undefined
  /** Message about what the last form has done. */
  readonly result: string
  /** Number of forms that have changed the list. It is loaded again after each of them. */
  readonly changes: number
}

const initial: State = { selected: new Set(), form: undefined, result: '', changes: 0 }

/** A page of records. Filters, ordering, paging and columns of related records are in the URL. */
function Records({ resource, query }: ListProps) {
  const { name, description } = resource
  const { user, showRequest } = useSession()
  const [{ selected, form, result, changes }, setState] = useState(initial)
  const path = useListPath(resource, query)
  const [shown, setShown] = useState(none)
  const changesOfOthers = useChanges(resource, query, shown)
  const loaded = useRead(path, true, pathOf(`/${name}/`, query), changes + changesOfOthers)
  const page = useKept(loaded, loaded.state === 'done' ? (loaded.reply.json as Page) : undefined)
  const records = page?.objects ?? none
  useEffect(() => setShown(records), [records])
  // Records of other pages may be selected too, but the user does not see them.
  const ids = records.map(({ id }) => String(id)).filter((id) => selected.has(id))
  const status = useRef<HTMLParagraphElement>(null)
  const update = (next: Partial<State>): void => setState((state) => ({ ...state, ...next }))
  useEffect(() => update({ form: undefined, result: '' }), [path])
  useEffect(() => {
    // Otherwise the form would open again, and take the focus, when the next record is selected.
    if (ids.length === 0) setState((state) => (state.form === 'import' ? state : { ...state, form: undefined }))
  }, [ids.length])
  useFocusEffect(() => {
    // The button that was pressed does not exist any more, so the focus would be lost.
    if (changes > 0) status.current?.focus()
  }, [changes])
  const forms = {
    form,
    onOpen: (next: ListForm): void => update({ form: next, result: '' }),
    onClose: (): void => {
      update({ form: undefined })
      showRequest({ method: 'GET', path })
    },
  }
  const finish = (done: string): void => setState((state) => ({ ...initial, result: done, changes: state.changes + 1 }))
  const select = (next: ReadonlySet<string>): void => update({ selected: next, result: '' })
  const showsDeleted = resource.restores && query.has('deleted')
  const isSelectable = mayWriteMany(resource, user) && !showsDeleted
  const imports = mayWrite(resource, user) && resource.fileTypes.length > 0
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
        {resource.restores && !showsDeleted && (
          <a class="button" href={links.list(name, 'deleted=only')}>
            Deleted records
          </a>
        )}
        {page && <Download resource={resource} query={query} />}
        <Columns resource={resource} query={query} />
        {imports && <FormButton {...forms} opens="import" label="Import a file" />}
        {imports && form === 'import' && <Import resource={resource} onClose={forms.onClose} onDone={finish} />}
      </div>
      <p role="status" class="result" tabIndex={-1} ref={status}>
        {result}
      </p>
      {isSelectable && <Bulk {...forms} resource={resource} ids={ids} onDone={finish} />}
      {loaded.state === 'failed' ? (
        <Problem error={loaded.error} isRead />
      ) : (
        <Table
          {...{ resource, query, records }}
          isBusy={loaded.state === 'loading'}
          selection={
            isSelectable
              ? { selected, canSelect: (record) => !belongsToAnother(resource, user, record), onChange: select }
              : undefined
          }
        />
      )}
      {page && <Pager resource={resource} query={query} meta={page.meta} unit="Records" />}
    </>
  )
}

/** Path of the request for a list: its query, with the names of the records that foreign keys refer to. */
export function useListPath(resource: Resource, query: URLSearchParams): string {
  const { model, user } = useSession()
  const { filters } = resource
  const shown = parameterIn(filters, query, 'fields')?.split(',')
  const include = includeFor(model, resource, user, parameterIn(filters, query, 'include'), shown)
  const asked = new URLSearchParams(query)
  if (include !== undefined) asked.set('include', include)
  return pathOf(`/${resource.name}/`, asked)
}
