import type { EntityMetadata } from 'typeorm'
import type { Permission } from '../resource'
import type { ColumnMetadata } from './metadata'
import { isNamed, listsColumn } from './property'
import type { Registration } from './registration'

/** Permissions of a property in the option `fields`, with their defaults (specification: Field permissions). */
export interface PropertyPermissions {
  /** Property path: `hourlyRate`, `profile.phone`. It can be that of an embedded entity or of a relation. */
  readonly property: string
  readonly read: Permission
  readonly write: Permission
}

/** Field permissions of the resources, by entity. A resource without the option `fields` has none. */
export type FieldPermissionsByEntity = ReadonlyMap<EntityMetadata, readonly PropertyPermissions[]>

/** Function in the option `fields`. If several permissions use the same function, it is called once for all of them. */
export interface FieldPermissionFunction {
  readonly permission: Exclude<Permission, boolean>
  /** Text for messages, from where the function is used first: `the function in "read" of rate.hourlyRate`. */
  readonly title: string
}

/** The functions in the field permissions of all resources, each once. */
export function fieldPermissionFunctions(
  registrations: readonly Registration[],
  permissions: FieldPermissionsByEntity,
): readonly FieldPermissionFunction[] {
  const titles = new Map<FieldPermissionFunction['permission'], string>()
  for (const { metadata, options } of registrations) {
    for (const { property, ...actions } of permissions.get(metadata) ?? []) {
      for (const action of ['read', 'write'] as const) {
        const permission = actions[action]
        if (typeof permission !== 'function' || titles.has(permission)) continue
        const resource = options.name ?? metadata.name.toLowerCase()
        titles.set(permission, `the function in "${action}" of ${resource}.${property}`)
      }
    }
  }
  return [...titles].map(([permission, title]) => ({ permission, title }))
}

/**
 * Adds field permissions to the options of a registration: what the principals may not read is in `exclude`, and what
 * they may not write is in `readOnly`.
 * @param isPermitted whether the principals have a permission
 * @returns the same object if nothing has to be added
 */
export function restrict(
  registration: Registration,
  permissions: FieldPermissionsByEntity,
  isPermitted: (permission: Permission) => boolean,
): Registration {
  const { metadata, options } = registration
  const own = permissions.get(metadata) ?? []
  const without = (action: 'read' | 'write', listed: readonly string[] = []): readonly string[] =>
    own
      .filter((permission) => !isPermitted(permission[action]) && !isNamed(permission.property, listed))
      .map(({ property }) => property)
  const [exclude, readOnly] = [without('read', options.exclude), without('write', options.readOnly)]
  if (exclude.length + readOnly.length === 0) return registration
  const extended = {
    ...options,
    exclude: [options.exclude ?? [], exclude].flat(),
    readOnly: [options.readOnly ?? [], readOnly].flat(),
  }
  return { ...registration, options: extended }
}

/**
 * The functions that decide who may read any of these columns.
 * @param relation property path of the relation whose foreign key the columns are
 */
export function readFunctions(
  metadata: EntityMetadata,
  isColumn: (column: ColumnMetadata) => boolean,
  permissions: FieldPermissionsByEntity,
  relation = '',
): ReadonlySet<Permission> {
  const columns = metadata.columns.filter(isColumn)
  const covering = (permissions.get(metadata) ?? []).filter(
    ({ property }) => isNamed(relation, [property]) || columns.some((column) => listsColumn(column, [property])),
  )
  return new Set(covering.map(({ read }) => read).filter((read) => typeof read === 'function'))
}
