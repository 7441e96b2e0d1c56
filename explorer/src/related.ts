import { useEffect, useState } from 'preact/hooks'
import { type Reply, send } from './api'
import type { Rows } from './draft'
import type { Field } from './model'
import { pathOf } from './route'
import { mayRead, useSession } from './session'

/** Stored values of the members of a body with related records, by the name of the member. */
export type Related = ReadonlyMap<string, readonly unknown[]>

/**
 * Reads the related records of a record, or their keys. This is a separate request, because the ETag of a record with related
 * records cannot be used for `If-Match`.
 * @param path of the record; undefined for a new one
 * @param nested members of a body
 * @returns members that can be edited: all of their records were read. Undefined until then
 */
export function useRelated(path: string | undefined, nested: readonly Field[]): Related | undefined {
  const { model, user } = useSession()
  const [related, setRelated] = useState<Related>()
  useEffect(() => {
    const asked = nested.filter(({ rows, schema }) => {
      const target = model.resources.get(schema['x-resource'] ?? '')
      return rows ? rows.update !== undefined : target !== undefined && mayRead(target, user)
    })
    // The related records are read only once: after a second read, the form could not distinguish a row that the user has
    // removed from a record that another user has added.
    if (path === undefined || nested.length === 0 || related?.size) return
    let isCurrent = true
    const read = async (): Promise<Related> => {
      const include = asked.map((field) => (field.rows ? field.name : `${relationOf(field)}(fields:id)`)).join()
      const { json } = await send({ method: 'GET', path: pathOf(path, { include }) }, user)
      return new Map(asked.flatMap((field) => valuesIn(json as Included, field)))
    }
    // If the user may not read the related records, the form has only the fields of the record itself.
    const found = asked.length === 0 ? Promise.resolve(new Map()) : read().catch(() => new Map())
    void found.then((next) => isCurrent && setRelated(next))
    return () => {
      isCurrent = false
    }
  }, [path, nested, user])
  return related
}

/** A record with related records. */
type Included = Readonly<Record<string, unknown>>

function relationOf({ name, schema }: Field): string {
  return schema['x-relation'] ?? name
}

/** Name and values of a member; empty if not all records were read, since a PUT deletes those that it does not contain. */
function valuesIn(json: Included, field: Field): readonly (readonly [string, readonly unknown[]])[] {
  const relation = relationOf(field)
  const records = json[relation]
  if (!Array.isArray(records) || json[`${relation}_next`] !== '') return []
  return [[field.name, field.rows ? records : records.map(({ id }) => id)]]
}

/** The JSON of a record, with the values of the members that can be edited. */
export function withRelated(record: Reply | undefined, related: Related | undefined): unknown {
  return { ...Object(record?.json), ...Object.fromEntries(related ?? []) }
}

/** Whether the user has removed the row of a stored record. */
export function removesRows(rows: Rows | undefined, stored: readonly unknown[] = []): boolean {
  return rows !== undefined && stored.some((record) => !rows.some(({ id }) => id === Object(record).id))
}
