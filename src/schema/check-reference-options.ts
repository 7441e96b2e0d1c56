import type { Report } from '../errors'
import type { MountContext } from './context'
import { isHidden } from './hidden'
import { type ColumnMetadata, withJoinColumns } from './metadata'
import { hasOption, isDeclaredBy, isNamed, listsColumn } from './property'
import type { Registration } from './registration'
import { isToMany } from './relations'

type Action = 'read' | 'write'
type Context = Pick<MountContext, 'accounts' | 'apiKeys' | 'registrations' | 'fieldPermissions'>

/** The option that takes an action away from all principals. */
const listOf = { read: 'exclude', write: 'readOnly' } as const

/**
 * Reports the declared columns of foreign keys that do not have an option of their relation. If a foreign key has several
 * columns, each declared one is a field of its own, for example the company of a record and of the order that it refers to.
 * Such a field may be needed although the relation is hidden or read-only, so an option of the relation does not apply to
 * it. But without an option it would show or change the foreign key: the application has to decide.
 */
export function checkReferenceOptions(registration: Registration, context: Context, report: Report): void {
  const { metadata, options } = registration
  const permissions = context.fieldPermissions.get(metadata) ?? []
  const isRestricted = (path: string, action: Action): boolean =>
    isNamed(path, options[listOf[action]]) ||
    permissions.some((one) => isNamed(path, [one.property]) && one[action] !== true)
  const isDecided = (column: ColumnMetadata, action: Action): boolean =>
    listsColumn(column, options[listOf[action]]) ||
    permissions.some(
      (one) =>
        listsColumn(column, [one.property]) && (one[action] !== true || isGiven(registration, one.property, action)),
    )
  const isClosed = (column: ColumnMetadata, action: Action): boolean =>
    action === 'read' ? isHidden(column, registration, context) : !hasOption(metadata, column, 'insert')
  for (const relation of metadata.relations.map(withJoinColumns)) {
    const { propertyPath, joinColumns } = relation
    if (joinColumns.length < 2 || isToMany(relation) || !isDeclaredBy(metadata, relation)) continue
    for (const action of ['read', 'write'] as const) {
      if (!isRestricted(propertyPath, action)) continue
      const isListed = isNamed(propertyPath, options[listOf[action]])
      for (const column of joinColumns) {
        if (column.isVirtual || isDecided(column, action) || isClosed(column, action)) continue
        report(mistakeOf(propertyPath, column, action, isListed))
      }
    }
  }
}

/** Whether the option `fields` has the member for an action, so that `true` is a decision and no default. */
function isGiven({ options: { fields } }: Registration, property: string, action: Action): boolean {
  return Object(Object(fields)[property])[action] !== undefined
}

/** @param isListed whether the relation is in the option of the action that applies to all principals */
function mistakeOf(
  relation: string,
  { propertyPath, isPrimary }: ColumnMetadata,
  action: Action,
  isListed: boolean,
): string {
  const list = listOf[action]
  const restricted = isListed ? `"${relation}" is in "${list}"` : `"fields.${relation}" restricts "${action}"`
  const effect = action === 'read' ? 'is shown' : 'can be written'
  const restrict = isListed ? `put "${propertyPath}" in "${list}" too` : `give "${propertyPath}" a "${action}" too`
  const permit = `permit this with { fields: { "${propertyPath}": { ${action}: true } } }`
  // A column of the key is always shown, as "id".
  const solutions = action === 'read' && isPrimary ? permit : `${restrict}, or ${permit}`
  return `${restricted}, but "${propertyPath}", a column of its foreign key, ${effect}: ${solutions}`
}
