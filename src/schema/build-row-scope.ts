import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { MountContext } from './context'
import { withJoinColumns } from './metadata'
import type { Registration } from './registration'
import { isToMany } from './relations'
import type { FilterNames, ResourceView, RowScope } from './resource-view'

/**
 * Builds the row scope of a resource from its option `scope`.
 * @param resource name of the resource
 * @param names returns the names that filter objects on the entity may use; called only if the scope is a function
 * @returns undefined if the option is missing, `'all'`, or a mistake, which has been reported
 */
export function buildRowScope(
  { metadata, options: { scope } }: Registration,
  resource: string,
  { byEntity }: MountContext,
  names: () => FilterNames,
  report: Report,
): RowScope | undefined {
  if (scope === undefined || scope === 'all') return undefined
  if (typeof scope === 'function') {
    return {
      type: 'filter',
      filter: { title: `the scope of ${resource}`, option: scope, call: scope, names: names(), states: ['before'] },
    }
  }
  const through: unknown = Object(scope).through
  if (typeof through !== 'string' || Object.keys(Object(scope)).length > 1) {
    report(`"scope" must be a function that returns a filter, { through: "a relation" } or "all"`)
    return undefined
  }
  const relations = metadata.relations.map(withJoinColumns).filter((relation) => !isToMany(relation))
  const relation = relations.find(({ propertyPath }) => propertyPath === through)
  if (relation === undefined) {
    const known = relations.map(({ propertyPath }) => propertyPath).join(', ')
    const list = known === '' ? 'the entity has none' : `relations to one record: ${known}`
    report(`"scope" follows "${through}", which is not a relation to one record; ${list}`)
    return undefined
  }
  return { type: 'through', relation, target: () => byEntity.get(relation.inverseEntityMetadata) }
}

/**
 * Checks the row scopes that follow relations, when all resources are built: each must lead to a resource with a scope,
 * and none to itself. Without a scope of the related resource, the option would restrict nothing.
 * @param withScope the entities of the resources with the option `scope`
 */
export function checkRowScopes(
  views: readonly ResourceView[],
  withScope: ReadonlySet<EntityMetadata>,
  report: Report,
): void {
  for (const view of views) {
    const { metadata, rowScope } = view
    if (rowScope?.type !== 'through') continue
    const target = rowScope.target()
    if (target === undefined || !withScope.has(target.metadata)) {
      const { propertyPath, inverseEntityMetadata } = rowScope.relation
      const { name } = inverseEntityMetadata
      const problem =
        target === undefined
          ? 'which is not a resource'
          : `which has no "scope"; if everybody may see the records of ${name}, set its scope: "all"`
      report(`${metadata.name}: "scope" follows "${propertyPath}" to ${name}, ${problem}`)
    }
    const path = followScopes(view)
    if (path.at(-1) !== view || path.length === 1) continue
    const names = path.map((followed) => followed.metadata.name).join(' → ')
    report(`${metadata.name}: "scope" follows relations in a circle: ${names}`)
  }
}

/** The resources to which `through` leads from a resource, which is the first, until one occurs twice. */
function followScopes(view: ResourceView): readonly ResourceView[] {
  const path = [view]
  for (let scope = view.rowScope; scope?.type === 'through'; ) {
    const target = scope.target()
    if (target === undefined) return path
    const isRepeated = path.includes(target)
    path.push(target)
    if (isRepeated) return path
    scope = target.rowScope
  }
  return path
}
