import { useMemo, useState } from 'preact/hooks'
import { type Refused, type Reply, send } from './api'
import { labelKey, useLabels } from './labels'
import { labelField, type Resource, title, valueAt } from './model'
import { Problem } from './problem'
import { go, links } from './route'
import { useRead, useSession } from './session'
import { Value } from './value'

interface RecordProps {
  readonly resource: Resource
  readonly id: string
}

/** One record: what it is, what it refers to, and who refers to it. */
export function RecordView({ resource, id }: RecordProps) {
  const { name, fields } = resource
  const loaded = useRead(`/${name}/${encodeURIComponent(id)}/`)
  const record = loaded.state === 'done' ? loaded.reply.json : undefined
  const records = useMemo(() => (record === undefined ? [] : [record]), [record])
  const labels = useLabels(records, fields)
  const label = labelField(resource)
  const own = record !== undefined && label ? String(valueAt(record, label.path)) : ''
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>
          {name} {id} <span class="quiet">{own.slice(0, 80)}</span>
        </h1>
        {loaded.state === 'done' && <Actions resource={resource} id={id} before={loaded.reply} />}
      </div>
      <p>
        <a href={links.list(name)}>All of {name}</a>
      </p>
      {loaded.state === 'failed' && <Problem error={loaded.error} />}
      {record !== undefined && (
        <dl>
          {fields.map((field) => {
            const value = valueAt(record, field.path)
            const called = labels.get(labelKey(field.schema['x-resource'] ?? '', value))
            return (
              <div key={field.name}>
                <dt title={field.schema.description ?? ''}>{title(field.name)}</dt>
                <dd>
                  <Value field={field} value={value} label={called} whole />
                </dd>
              </div>
            )
          })}
        </dl>
      )}
      {record !== undefined && <Referrers resource={resource} id={id} />}
    </>
  )
}

/** Who points to this record. */
function Referrers({ resource: { referrers }, id }: RecordProps) {
  const { model } = useSession()
  if (referrers.length === 0) return null
  return (
    <section aria-labelledby="referrers">
      <h2 id="referrers">What refers to it</h2>
      <ul>
        {referrers.map(({ resource, field }) => {
          const query = new URLSearchParams({ [field]: id })
          return (
            <li key={`${resource} ${field}`}>
              <a href={links.list(resource, query)}>
                {resource} by {title(field)}
              </a>
              {model.resources.get(resource)?.creates && (
                <>
                  {' · '}
                  <a href={links.create(resource, query)}>New {resource}</a>
                </>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Where the rule and the owner allow. */
function Actions({ resource, id, before }: RecordProps & { readonly before: Reply }) {
  const { user, askToSignIn, note } = useSession()
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState<Refused>()
  const { name, owner, updates, deletes, writesNeedUser } = resource
  if (!updates && !deletes) return null
  if (user !== undefined && owner !== undefined) {
    const owned = valueAt(before.json, owner.split('__'))
    if (String(owned) !== String(user.id)) return <p class="quiet">Only its owner may change it.</p>
  }
  if (user === undefined && writesNeedUser) {
    return (
      <button type="button" onClick={askToSignIn}>
        Sign in to change it
      </button>
    )
  }
  const remove = async (): Promise<void> => {
    const request = { method: 'DELETE', path: `/${name}/${encodeURIComponent(id)}/`, tag: before.tag }
    note(request)
    await send(request, user).then(() => go(links.list(name)), setError)
    setAsking(false)
  }
  return (
    <div class="buttons">
      {updates && (
        <a class="button" href={links.edit(name, id)}>
          Edit
        </a>
      )}
      {deletes && !isAsking && (
        <button type="button" onClick={() => setAsking(true)}>
          Delete
        </button>
      )}
      {isAsking && (
        <>
          <button type="button" class="danger" onClick={remove}>
            Delete for good
          </button>
          <button type="button" onClick={() => setAsking(false)}>
            Keep
          </button>
        </>
      )}
      {error && <Problem error={error} />}
    </div>
  )
}
