import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import type { AuditLog } from '../connection/change-events'

/** Properties that the entity of an audit log must have. */
const properties = ['resource', 'record', 'action', 'principal', 'changes'] as const

/** Maximum number of entries that one statement inserts. */
const maxEntries = 100

/**
 * Builds the audit log of a mount, which inserts an entity for each change (specification: Audit log).
 * @param mistakes receives the mistakes in the entity
 */
export function buildAuditLog(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  mistakes: string[],
): AuditLog | undefined {
  if (!dataSource.hasMetadata(entity)) {
    mistakes.push('"audit": the entity does not belong to the data source: add it to "entities"')
    return undefined
  }
  const { target, name, columns } = dataSource.getMetadata(entity)
  const missing = properties.filter((property) => columns.every(({ propertyPath }) => propertyPath !== property))
  if (missing.length > 0) {
    mistakes.push(
      `"audit": ${name} has no column for ${missing.join(', ')}; it needs columns for ${properties.join(', ')}`,
    )
  }
  return {
    insert: async ({ manager }, changes) => {
      const entries = changes.map(({ resource, id, action, principal, changes: changed }) => ({
        resource,
        record: String(id),
        action,
        principal: principal.id,
        changes: changed,
      }))
      for (let start = 0; start < entries.length; start += maxEntries) {
        await manager.insert(target, entries.slice(start, start + maxEntries))
      }
    },
  }
}
