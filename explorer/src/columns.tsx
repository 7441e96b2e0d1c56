import { useState } from 'preact/hooks'
import { parameterIn } from './filter-field'
import { columnsIn, columnsText } from './include'
import { type Relation, type Resource, title } from './model'
import { go, links } from './route'
import { mayRead, useSession } from './session'

interface ColumnsProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Check boxes for columns of related records. The columns are in the URL, as the parameter `include`. */
export function Columns({ resource, query }: ColumnsProps) {
  const { model, user } = useSession()
  const [isOpen, setOpen] = useState(false)
  const columns = columnsIn(model, resource, parameterIn(resource.filters, query, 'include'))
  const relations = resource.relations.flatMap((relation) => {
    const target = model.resources.get(relation.target)
    return target && mayRead(target, user) ? [{ relation, target }] : []
  })
  if (columns === undefined || relations.length === 0) return null
  const set = ({ name }: Relation, field: string, isShown: boolean): void => {
    const before = (columns.get(name) ?? []).filter((one) => one !== field)
    const include = columnsText(new Map(columns).set(name, isShown ? [...before, field] : before))
    const next = new URLSearchParams(query)
    next.delete('include')
    if (include !== undefined) next.set('include', include)
    go(links.list(resource.name, next))
  }
  return (
    <>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Columns
      </button>
      {isOpen && (
        <div class="columns">
          {relations.map(({ relation, target }) => (
            <fieldset key={relation.name}>
              <legend>{title(relation.name)}</legend>
              {target.fields
                .filter((field) => field.name !== 'id')
                .map((field) => (
                  <label key={field.name} class="inline">
                    <input
                      type="checkbox"
                      checked={columns.get(relation.name)?.includes(field.name) ?? false}
                      onChange={(event) => set(relation, field.name, event.currentTarget.checked)}
                    />
                    {title(field.name)}
                  </label>
                ))}
            </fieldset>
          ))}
        </div>
      )}
    </>
  )
}
