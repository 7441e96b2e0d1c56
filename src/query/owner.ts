import type { Principal } from '../access/rule'
import type { ResourceView } from '../schema/resource-view'

/**
 * Returns the value of the owner's foreign key for a principal. The id of the principal is parsed as text, because
 * access rules of the application may return it as text.
 * @returns undefined if the resource has no owners
 * @throws {TypeError} if the id is not a key of a user, which is a mistake of the application
 */
export function ownerKey({ owner, name }: ResourceView, { id }: Principal): unknown {
  if (owner === undefined) return undefined
  try {
    return owner.valueType.fromText(String(id))
  } catch (cause) {
    const detail = `the access rule of ${name} returned the id ${JSON.stringify(id)}, which is not a key of a user`
    throw new TypeError(detail, { cause })
  }
}
