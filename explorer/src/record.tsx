import { useMemo } from 'preact/hooks'
import { Actions } from './actions'
import { includeFor, listsFor, maxListed } from './include'
import { useLabels } from './labels'
import { type Page, useListPath } from './list'
import { type Field, labelField, type Reference, type Resource, title, valueAt } from './model'
import { NewLink } from './new-link'
import { Problem } from './problem'
import { links, pathOf } from './route'
import { mayRead, useRead, useSession } from './session'
import { Table } from './table'
import { Value } from './value'

interface RecordProps {
  readonly resource: Resource
  readonly id: string
  /** Value of the parameter `deleted`, with which soft-deleted records are found. */
  readonly deleted: string | null
}

/** One record with its fields, links to the records it refers to, and lists of records that refer to it. */
export function RecordView({ resource, id, deleted }: RecordProps) {
  const { model, user } = useSession()
  const { name, fields } = resource
  const path = `/${name}/${encodeURIComponent(id)}/`
  const lists = listsFor(model, resource, user)
  const include = includeFor(model, resource, user, undefined, undefined, lists)
  const asked = deleted === null ? {} : { deleted }
  const withIncluded = pathOf(path, include === undefined ? asked : { ...asked, include })
  const loaded = useRead(withIncluded, true, pathOf(path, asked))
  const record = loaded.state === 'done' ? loaded.reply.json : undefined
  const records = useMemo(() => (record === undefined ? [] : [record]), [record])
  const labelOf = useLabels(resource, records)
  const label = labelField(resource)
  const own = record !== undefined && label ? String(valueAt(record, label.path) ?? '') : ''
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>
          {name} {id} <span class="quiet">{own.slice(0, 80)}</span>
        </h1>
        {record !== undefined && <Actions resource={resource} id={id} before={record} deleted={deleted} />}
      </div>
      <p>
        <a href={links.list(name)}>All {name} records</a>
      </p>
      {loaded.state === 'loading' && <p class="loading">Loading…</p>}
      {loaded.state === 'failed' && <Problem error={loaded.error} isRead />}
      {record !== undefined && (
        <dl>
          {fields.map((field) => (
            <div key={field.name}>
              <dt title={field.schema.description ?? ''}>{title(field.name)}</dt>
              <dd>
                <Value field={field} value={valueAt(record, field.path)} label={labelOf(field, record)} whole />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {record !== undefined &&
        lists.map(({ name: list, path: at, target, label: field }) => (
          <Listed key={list} name={list} target={target} records={valueAt(record, at)} label={field} />
        ))}
      {record !== undefined &&
        deleted === null &&
        resource.referrers.map((reference) => (
          <Referrer key={`${reference.resource} ${reference.field}`} reference={reference} id={id} />
        ))}
    </>
  )
}

interface ListedProps {
  /** Name of the relation. */
  readonly name: string
  /** Name of the related resource. */
  readonly target: string
  /** The related records; undefined if the service has refused them. */
  readonly records: unknown
  readonly label: Field | undefined
}

/** Links to the first records of a relation to many. */
function Listed({ name, target, records, label }: ListedProps) {
  if (!Array.isArray(records)) return null
  return (
    <section>
      <h2>{title(name)}</h2>
      {records.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <ul>
          {records.map((record: { readonly id: unknown }) => (
            <li key={String(record.id)}>
              <a href={links.record(target, record.id)}>
                {String((label && valueAt(record, label.path)) || record.id)}
              </a>
            </li>
          ))}
          {records.length === maxListed && <li class="quiet">There may be more.</li>}
        </ul>
      )}
    </section>
  )
}

interface ReferrerProps {
  readonly reference: Reference
  /** Id of the record that is referred to. */
  readonly id: string
}

/** The first records that refer to this one by a foreign key, with links to all of them and to a new one. */
function Referrer({ reference: { resource: name, field }, id }: ReferrerProps) {
  const { model, user } = useSession()
  const resource = model.resources.get(name)
  const query = useMemo(() => new URLSearchParams({ [field]: id }), [field, id])
  if (resource === undefined) return null
  // The owner of a new record is the user.
  const isOwn = resource.owner !== field || (user !== undefined && String(user.id) === id)
  return (
    <section>
      <div class="heading">
        <h2>
          <a href={links.list(name, query)}>
            {name} by {title(field)}
          </a>
        </h2>
        {isOwn && <NewLink resource={resource} initial={query} />}
      </div>
      {mayRead(resource, user) && <Referring resource={resource} query={query} />}
    </section>
  )
}

/** Number of records that refer to a record, as its page shows them. */
const maxReferring = 5

function Referring({ resource, query }: { readonly resource: Resource; readonly query: URLSearchParams }) {
  const plain = new URLSearchParams([...query, ['limit', String(maxReferring)]])
  const loaded = useRead(useListPath(resource, plain), false, pathOf(`/${resource.name}/`, plain))
  if (loaded.state === 'failed') return <p class="quiet">{loaded.error.message}</p>
  const { objects = [], meta } = (loaded.state === 'done' ? loaded.reply.json : {}) as Partial<Page>
  return (
    <>
      <Table {...{ resource, query }} records={objects} isBusy={loaded.state === 'loading'} selection={undefined} />
      {meta?.next && <a href={links.list(resource.name, query)}>More {resource.name} records</a>}
    </>
  )
}
