import { useMemo } from 'preact/hooks'
import { Actions } from './actions'
import { includeFor } from './include'
import { useLabels } from './labels'
import { labelField, type Resource, title, valueAt } from './model'
import { NewLink } from './new-link'
import { Problem } from './problem'
import { links, pathOf } from './route'
import { useRead, useSession } from './session'
import { Value } from './value'

interface RecordProps {
  readonly resource: Resource
  readonly id: string
}

/** One record with its fields, links to the records it refers to, and links to lists of records that refer to it. */
export function RecordView({ resource, id }: RecordProps) {
  const { model, user } = useSession()
  const { name, fields } = resource
  const plain = `/${name}/${encodeURIComponent(id)}/`
  const include = includeFor(model, resource, user, undefined, undefined)
  const loaded = useRead(pathOf(plain, include === undefined ? {} : { include }), true, plain)
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
        {record !== undefined && <Actions resource={resource} id={id} before={record} />}
      </div>
      <p>
        <a href={links.list(name)}>All {name} records</a>
      </p>
      {loaded.state === 'failed' && <Problem error={loaded.error} />}
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
      {record !== undefined && <Referrers resource={resource} id={id} />}
    </>
  )
}

/** Links to the lists of records that refer to this one. */
function Referrers({ resource: { referrers }, id }: RecordProps) {
  const { model } = useSession()
  if (referrers.length === 0) return null
  return (
    <section aria-labelledby="referrers">
      <h2 id="referrers">What refers to it</h2>
      <ul class="referrers">
        {referrers.map(({ resource, field }) => {
          const query = new URLSearchParams({ [field]: id })
          const own = model.resources.get(resource)
          return (
            <li key={`${resource} ${field}`}>
              <a href={links.list(resource, query)}>
                {resource} by {title(field)}
              </a>
              {own && <NewLink resource={own} initial={query} />}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
