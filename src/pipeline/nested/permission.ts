import { ApiError } from '../../errors'
import { matchingIds } from '../../read/matching-keys'
import { keyId } from '../../read/row'
import type { ResourceView } from '../../schema/resource-view'
import { isOwnedBy } from '../../write/target-condition'
import type { WriteTarget } from '../../write/write-store'
import type { PermittedRequest } from '../service'
import type { RelatedResource } from './related'
import type { StoredRecord } from './stored'

/** Related record to write, with its name in a refusal. */
export interface CheckedTarget {
  readonly target: WriteTarget
  /** The stored record; undefined if the resource has no owners. */
  readonly stored: StoredRecord | undefined
  /** Path in the body, such as `lines[1]`. */
  readonly title: string
}

/**
 * Requires that the principal owns stored related records, and that `may` permits to write them as they are stored
 * (specification: Owners, Permissions).
 * @throws {ApiError} `not-owner`, `forbidden`
 */
export async function requireWritable(
  { session }: PermittedRequest,
  { store, owner }: RelatedResource,
  action: WriteTarget['action'],
  targets: readonly CheckedTarget[],
): Promise<void> {
  const { view, policies } = store
  const refused = targets.find(({ stored }) => stored && !isOwnedBy(view, stored.row, owner()))
  if (refused !== undefined) {
    throw new ApiError('not-owner', `${refused.title}: only the owner may change or delete this ${view.name}`)
  }
  if (targets.length === 0 || view.may[action] === undefined) return
  const isPermitted = policies?.permits(view, action)
  if (isPermitted === true) return
  const keys = targets.map(({ target }) => target.key)
  const ids =
    isPermitted === false ? new Set<string>() : await matchingIds(session, store, keys, { action, state: 'before' })
  const forbidden = targets.find(({ target }) => !ids.has(keyId(view, target.key)))
  if (forbidden !== undefined) throw notPermitted(forbidden, view, action)
}

function notPermitted({ title }: CheckedTarget, { name }: ResourceView, action: WriteTarget['action']): ApiError {
  return new ApiError('forbidden', `${title}: you may not ${action === 'update' ? 'change' : action} this ${name}`)
}
