import type { Report } from '../errors'
import type { MountContext } from './context'
import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import type { Registration } from './registration'

/**
 * The foreign key that `ownerField` names: to the key of the user entity, where there is one (specification: Checks at mount). Of a key of several columns a principal
 * has only the first, which does not tell users apart.
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
  const such = allowed.length > 0 ? `; such are: ${allowed.join(', ')}` : ''
  report(`"ownerField" is "${options.ownerField}", no many-to-one to the key of ${users?.name ?? 'an entity'}${such}`)
  return undefined
}
