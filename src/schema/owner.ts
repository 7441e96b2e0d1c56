import type { Principal } from '../access/rule'
import type { Report } from '../errors'
import type { OwnerOptions } from '../resource'
import type { MountContext } from './context'
import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import type { Registration } from './registration'
import type { OwnerFunction } from './resource-view'

/** The owner of the records of a resource. */
interface Owner {
  /** The foreign key to the owner. */
  readonly field: Field
  /** Undefined if owners are users. */
  readonly ownerOf: OwnerFunction | undefined
}

/**
 * Finds the foreign key in the option `ownerField`, and reports one that does not refer to the key of the user entity,
 * if there is a user entity, or with a function to the key of an entity (specification: Checks at mount). The key must
 * have one column, because the key of an owner is one value.
 */
export function findOwner(
  { metadata, options: { ownerField } }: Registration,
  fields: readonly Field[],
  { accounts }: MountContext,
  report: Report,
): Owner | undefined {
  if (ownerField === undefined) return undefined
  const option = typeof ownerField === 'string' ? undefined : ownerField
  if (option !== undefined && !checkOwnerOptions(option, report)) return undefined
  const users = option === undefined ? accounts?.metadata : undefined
  const isToOwner = ({ isManyToOne, inverseEntityMetadata, joinColumns }: RelationMetadata): boolean =>
    isManyToOne &&
    (users === undefined || inverseEntityMetadata === users) &&
    inverseEntityMetadata.primaryColumns.length === 1 &&
    joinColumns.length === 1 &&
    joinColumns.every(({ referencedColumn }) => referencedColumn?.isPrimary)
  const property = option?.field ?? ownerField
  const name = option === undefined ? 'ownerField' : 'ownerField.field'
  const field = fields.find((one) => one.property === property)
  if (field?.relation && isToOwner(field.relation)) {
    const { valueType } = field
    if (!valueType.operators.includes('eq')) {
      report(
        `"${name}" cannot be "${property}": keys of ${field.relation.inverseEntityMetadata.name} cannot be compared by eq`,
      )
    }
    return { field, ownerOf: option && ownerFunction(option, metadata) }
  }
  const allowed = fields.flatMap(({ relation }) => (relation && isToOwner(relation) ? [relation.propertyPath] : []))
  const choices = allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : ''
  const target = `the key of ${users?.name ?? 'an entity'}`
  report(`"${name}" must be a many-to-one relation to ${target}, not "${property}"${choices}`)
  return undefined
}

/** Reports an option that is not `{ field, is }`. */
function checkOwnerOptions(option: unknown, report: Report): option is OwnerOptions {
  const { field, is, ...others } = Object(option)
  if (typeof field === 'string' && typeof is === 'function' && Object.keys(others).length === 0) return true
  report('"ownerField" must be the name of a property, or { field, is } with the name and a function of the principal')
  return false
}

/** @returns a function that throws a `TypeError` for a result that is no key: a mistake of the application */
function ownerFunction({ is }: OwnerOptions, { name }: Registration['metadata']): OwnerFunction {
  const ownerOf = (principal: Principal) => {
    const key: unknown = is(principal)
    if (key === undefined || key === null) return undefined
    if (typeof key === 'string' || typeof key === 'number' || typeof key === 'bigint') return key
    // A promise that nobody awaits must not end the process if it is rejected.
    if (key instanceof Promise) key.catch(() => undefined)
    throw new TypeError(
      key instanceof Promise
        ? `"ownerField.is" of ${name} must not be async; load the data in the access rule`
        : `"ownerField.is" of ${name} must return a key, null or undefined, not a value of type ${typeof key}`,
    )
  }
  return Object.assign(ownerOf, { option: is })
}
