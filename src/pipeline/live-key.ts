import { inspect } from 'node:util'
import type { Principal } from '../access/rule'
import { collectValues } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import type { Inclusion, ListQuery } from '../query/query'
import { bindConditionValues } from '../read/condition-sql'
import { listStatement } from '../read/select'
import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { relatedStore } from './included-rows'

/**
 * Text that identifies a live list: requests with the same text receive the same records with the same fields.
 * @param target path and query string of the request: the links of included lists begin with the same prefix
 */
export function liveKey(
  session: DbSession,
  store: Store,
  query: ListQuery,
  principal: Principal,
  target: string,
): string {
  const { view } = store
  const { inclusion } = query
  const { statement, values } = listStatement(session, store, { ...query, limit: 1, offset: 0 }, undefined)
  const included = inclusion && [target, ...includedKey(store, inclusion)]
  // Load listeners may return other records for each principal. `inspect` may hide its properties, so its key is added.
  const principalKey = callsLoadListeners(view, inclusion) && [typeof principal.id, String(principal.id), principal]
  return inspect(
    [view.cacheKey, statement.sql, values.map(inspectable), session.settings, included, principalKey],
    allContent,
  )
}

/** All that included records depend on besides the request target: row scopes, permissions of fields, and values of filters. */
function includedKey(store: Store, { records, lists }: Inclusion): readonly unknown[] {
  return [
    ...records.map(({ view, inclusion }) => [view.cacheKey, includedKey(relatedStore(store, view), inclusion)]),
    ...lists.map(({ view, query }) => {
      const related = relatedStore(store, view)
      const { values, bind } = collectValues()
      const condition = bindConditionValues(related, query, bind)
      return [
        view.cacheKey,
        condition,
        values.map(inspectable),
        query.inclusion && includedKey(related, query.inclusion),
      ]
    }),
  ]
}

/** Whether listeners of the application change the records of a view, or those that they include. */
function callsLoadListeners(view: ResourceView, inclusion: Inclusion | undefined): boolean {
  const { records = [], lists = [] } = inclusion ?? {}
  return (
    view.lifecycle.load ||
    records.some((record) => callsLoadListeners(record.view, record.inclusion)) ||
    lists.some(({ view: listed, query }) => callsLoadListeners(listed, query.inclusion))
  )
}

/** A bound value as `inspect` shows it completely: all bytes of a buffer, and an object with private properties also as text. */
function inspectable(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (Array.isArray(value)) return value.map(inspectable)
  if (typeof value !== 'object' || value === null) return value
  return 'toString' in value ? [value, String(value)] : value
}

/** Options with which `inspect` shows values completely. */
const allContent = { depth: 20, maxArrayLength: null, maxStringLength: null, breakLength: Number.POSITIVE_INFINITY }
