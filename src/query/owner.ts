import type { Principal } from '../access/rule'
import type { ResourceView } from '../schema/resource-view'

/**
 * Returns the value of the owner's foreign key for a principal. The key is parsed as text, because access rules of the
 * application may return it as text.
 * @returns undefined if the resource has no owners
 * @throws {TypeError} if it is not a key of an owner, which is a mistake of the application
 */
export function ownerKey({ owner, ownerOf, name }: ResourceView, principal: Principal): unknown {
  if (owner === undefined) return undefined
  const key = ownerOf === undefined ? principal.id : ownerOf(principal)
  try {
    return owner.valueType.fromText(String(key))
  } catch (cause) {
    throw new TypeError(ownerOf === undefined ? userMistake(name, key) : ownerMistake(name, key), { cause })
  }
}

function userMistake(name: string, id: unknown): string {
  return `the access rule of ${name} returned the id ${JSON.stringify(String(id))}, which is not a key of a user`
}

function ownerMistake(name: string, key: unknown): string {
  return `"ownerField.is" of ${name} returned ${JSON.stringify(String(key))}, which is not a key of an owner`
}
