import type { Report } from '../errors'
import type { MountContext } from './context'
import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import type { Registration } from './registration'

/**
 * Finds the foreign key in the option `ownerField`, and reports one that does not refer to the key of the user entity,
 * if there is a user entity (specification: Checks at mount). The key must have one column, because `Principal.id` has
 * one value.
 */
export function findOwner(
  { metadata, options }: Registration,
  fields: readonly Field[],
  { accounts }: MountContext,
  report: Report,
): Field | undefined {
  if (options.ownerField === undefined) return undefined
  const users = accounts?.metadata
  const isToUser = ({ isManyToOne, inverseEntityMetadata, joinColumns }: RelationMetadata): boolean =>
    isManyToOne &&
    (users === undefined || inverseEntityMetadata === users) &&
    inverseEntityMetadata.primaryColumns.length === 1 &&
    joinColumns.length === 1 &&
    joinColumns.every(({ referencedColumn }) => referencedColumn?.isPrimary)
  const owner = fields.find((field) => field.property === options.ownerField)
  if (owner?.relation && isToUser(owner.relation)) return owner
  const allowed = metadata.relations.filter(isToUser).map((relation) => relation.propertyPath)
  const choices = allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : ''
  const target = `the key of ${users?.name ?? 'an entity'}`
  report(`"ownerField" must be a many-to-one relation to ${target}, not "${options.ownerField}"${choices}`)
  return undefined
}
