import type { DbTransaction } from '../../connection/db-session'
import { ApiError, FieldErrors } from '../../errors'
import { matchingIds } from '../../read/matching-keys'
import { keyId } from '../../read/row'
import { hasRowConditions } from '../../read/select'
import { refersToRestricted } from '../reference-lookups'
import { checkManyReferences } from '../references'
import type { WriteStore } from '../write-store'
import { checkCompletedReferences, refusalOf } from '../written-checks'
import { groupByStore, isChanged } from './planned'
import type { WrittenNode, WrittenTree } from './write-tree'

/**
 * Checks all changed records after the write: the principal must see them and the records to which their new references lead,
 * and `may` must permit their new values (specification: Row scopes, Permissions). The check runs when everything is written,
 * because the visibility of a record may depend on its links and related records. So it includes records of which only these
 * have changed.
 * @throws {ApiError} `forbidden`, `bad-values`
 */
export async function requireAllPermitted(session: DbTransaction, { nodes, links }: WrittenTree): Promise<void> {
  const errors = new FieldErrors()
  const written = nodes
    .filter(({ record }) => isChanged(record))
    .map((node) => ({ ...node, store: node.record.store, errors: errors.within(node.record.path) }))
  const groups = groupByStore(written)
  for (const [store, ofStore] of groups) {
    await checkCompletedReferences(session, store, ofStore)
    await checkManyReferences(session, store, ofStore, (field) => refersToRestricted(store, field))
  }
  for (const { members, keys } of links) await checkLinks(session, members, keys, errors)
  errors.raise('bad-values')
  for (const [store, ofStore] of groups) await checkWritten(session, store, ofStore)
  errors.raise('forbidden')
}

async function checkLinks(
  session: DbTransaction,
  members: WrittenTree['links'][number]['members'],
  keys: readonly unknown[],
  errors: FieldErrors,
): Promise<void> {
  const [first] = members
  if (first === undefined || !first.relation.target.isGuarded) return
  const { target } = first.relation
  const added = new Set(keys.map((key) => keyId(target, key)))
  const visible = await matchingIds(session, first.store, keys, 'related')
  for (const { path, keys: own } of members) {
    for (const { key, index } of own) {
      const id = keyId(target, key)
      if (added.has(id) && !visible.has(id)) errors.add(`${path}[${index}]`, `points to no ${target.name}`)
    }
  }
}

/** Adds the refusal of each written record that the principal may not see, or whose new values `may` does not permit. */
async function checkWritten(
  session: DbTransaction,
  store: WriteStore,
  nodes: readonly (WrittenNode & { readonly errors: FieldErrors })[],
): Promise<void> {
  const { view } = store
  for (const action of ['create', 'update'] as const) {
    const checked = nodes.filter(({ change }) => change.action === action)
    if (checked.length === 0 || !hasRowConditions(store, action)) continue
    const keys = checked.map(({ key }) => key)
    const ids = await matchingIds(session, store, keys, { action, state: 'after' })
    for (const { key, change, errors, record } of checked) {
      if (ids.has(keyId(view, key))) continue
      const refusal = new ApiError('forbidden', refusalOf(change, view))
      if (record.path === '') throw refusal
      errors.addRefusal(refusal)
    }
  }
}
