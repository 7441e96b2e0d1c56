import { ruleTitle } from '../access/require-principal'
import type { PropertyPermissions } from '../schema/field-permissions'
import type { ResourceView, RowScope, WriteAction } from '../schema/resource-view'

/** Description of a mounted resource. */
export interface MountedResource {
  readonly name: string
  /** Path of the collection: `/api/note/`. */
  readonly path: string
  /** Names of the members of a record, in their order. */
  readonly fields: readonly string[]
  /** Title of the access rule. */
  readonly rule: string
  /** Name of the field that holds the owner, if `ownerField` is set. */
  readonly owner?: string
  /** The row scope, if there is one: `filter`, or `through project` for `scope: { through: 'project' }`. */
  readonly scope?: string
  /** The writes that the option `may` restricts. */
  readonly may?: readonly WriteAction[]
  /**
   * The properties in the option `fields`, with the actions that are not permitted to everybody:
   * `{ hourlyRate: ['read', 'write'] }`.
   */
  readonly fieldPermissions?: { readonly [property: string]: readonly ('read' | 'write')[] }
  /**
   * Operations for which TypeORM entities are created, because there are listeners or subscribers or the entity is a
   * tree. These operations take longer.
   */
  readonly entities?: readonly ('load' | 'write')[]
}

/** @param base path of the mount: `/api` */
export function describeResource(view: ResourceView, base: string): MountedResource {
  const { name, outputFields, rule, owner, lifecycle, metadata, rowScope, fieldPermissions } = view
  const may = Object.keys(view.may) as readonly WriteAction[]
  const isWritten = lifecycle.write || metadata.treeType !== undefined
  const entities = [...(lifecycle.load ? ['load' as const] : []), ...(isWritten ? ['write' as const] : [])]
  return {
    name,
    path: `${base}/${name}/`,
    fields: outputFields.map((field) => field.name),
    rule: ruleTitle(rule),
    ...(owner === undefined ? {} : { owner: owner.name }),
    ...(rowScope === undefined ? {} : { scope: describeScope(rowScope, () => 'filter') }),
    ...(may.length === 0 ? {} : { may }),
    ...(fieldPermissions.length === 0 ? {} : { fieldPermissions: describeFieldPermissions(fieldPermissions) }),
    ...(entities.length === 0 ? {} : { entities }),
  }
}

function describeFieldPermissions(
  permissions: ResourceView['fieldPermissions'],
): NonNullable<MountedResource['fieldPermissions']> {
  const restrictedActions = (permission: PropertyPermissions) =>
    (['read', 'write'] as const).filter((action) => permission[action] !== true)
  const entries = permissions.map((permission) => [permission.property, restrictedActions(permission)] as const)
  return Object.fromEntries(entries.filter(([, actions]) => actions.length > 0))
}

/** @param describeFilter describes the option `scope`, which is a function */
export function describeScope(rowScope: RowScope, describeFilter: (option: unknown) => string): string {
  return rowScope.type === 'through'
    ? `through ${rowScope.relation.propertyPath}`
    : describeFilter(rowScope.filter.option)
}
