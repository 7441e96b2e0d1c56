import type { Principal } from '../access/rule'
import { ApiError } from '../errors'
import type { Resource } from '../schema/registry'
import type { WriteTarget } from './query'

/**
 * Returns the value of the owner's foreign key for a principal. The id of the principal is parsed as text, because
 * access rules of the application may return it as text.
 * @returns undefined if the resource has no owners
 * @throws {TypeError} if the id is not a key of a user, which is a mistake of the application
 */
export function ownerKey({ owner, name }: Resource, { id }: Principal): unknown {
  if (owner === undefined) return undefined
  try {
    return owner.valueType.fromText(String(id))
  } catch (cause) {
    const detail = `the access rule of ${name} returned the id ${JSON.stringify(id)}, which is not a key of a user`
    throw new TypeError(detail, { cause })
  }
}

/**
 * Requires that the principal is the owner of a record (specification: Owners).
 * @throws {ApiError} `not-owner`
 */
export function requireOwner(resource: Resource, { owner: storedOwner }: WriteTarget, principal: Principal): void {
  const { owner } = resource
  if (owner === undefined) return
  const { valueType } = owner
  if (storedOwner !== null && valueType.toJson(storedOwner) === valueType.toJson(ownerKey(resource, principal))) return
  throw new ApiError('not-owner', `only the owner may change or delete this ${resource.name}`)
}
