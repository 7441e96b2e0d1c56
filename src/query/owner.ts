import type { Principal } from '../access/rule'
import { ApiError } from '../errors'
import type { Resource } from '../schema/registry'
import type { WriteTarget } from './query'

/**
 * The principal as a record's owner: its id as the foreign key holds it, since a site's own rule may know it as text.
 * @returns undefined where records have no owner
 * @throws {TypeError} for an id that is no key of a user, which is the application's mistake
 */
export function ownerKey({ owner, name }: Resource, { id }: Principal): unknown {
  if (owner === undefined) return undefined
  try {
    return owner.valueType.fromText(String(id))
  } catch (cause) {
    throw new TypeError(`the access rule of ${name} answered with ${JSON.stringify(id)}, no key of a user`, { cause })
  }
}

/**
 * Compares a record's owner with the principal (specification: Owners).
 * @throws {ApiError} `not-owner`
 */
export function requireOwner(resource: Resource, { owner: stored }: WriteTarget, principal: Principal): void {
  const { owner } = resource
  if (owner === undefined) return
  if (stored !== null && owner.valueType.toJson(stored) === owner.valueType.toJson(ownerKey(resource, principal)))
    return
  throw new ApiError('not-owner', `only the owner may change or delete this ${resource.name}`)
}
