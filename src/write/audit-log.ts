import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import type { AuditedChange, AuditLog } from '../connection/change-events'
import type { DbTransaction } from '../connection/db-session'
import { dialectOf } from '../dialect/dialect-of'
import { lifecycleOf } from '../schema/lifecycle'
import { insertUnread } from './insert-many'

/** Properties that the entity of an audit log must have. */
const properties = ['resource', 'record', 'action', 'principal', 'changes'] as const

/** Maximum number of entries with listeners that one statement inserts. */
const maxEntries = 100

/**
 * Builds the audit log of a mount, which inserts an entity for each change (specification: Audit log).
 * @param mistakes receives the mistakes in the entity
 */
export function buildAuditLog(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  mistakes: string[],
): AuditLog<DbTransaction> | undefined {
  if (!dataSource.hasMetadata(entity)) {
    mistakes.push('"audit": the entity does not belong to the data source: add it to "entities"')
    return undefined
  }
  const metadata = dataSource.getMetadata(entity)
  const { target, name, columns, tablePath } = metadata
  const missing = properties.filter((property) => columns.every(({ propertyPath }) => propertyPath !== property))
  if (missing.length > 0) {
    mistakes.push(
      `"audit": ${name} has no column for ${missing.join(', ')}; it needs columns for ${properties.join(', ')}`,
    )
  }
  const table = { dataSource, dialect: dialectOf(dataSource), view: { metadata, cacheKey: 'audit log' } }
  const hasListeners = lifecycleOf(metadata, dataSource).write
  return {
    insert: async (session, changes) => {
      const entries = changes.map(toEntry)
      if (!hasListeners) {
        await insertUnread(session, table, entries)
        session.observer.recordTable(session.runner, { table: tablePath, ids: undefined, isDeletion: false })
        return
      }
      for (let start = 0; start < entries.length; start += maxEntries) {
        await session.runner.manager.insert(target, entries.slice(start, start + maxEntries))
      }
    },
  }
}

/** The values of an entry. */
function toEntry({ resource, id, action, principal, changes }: AuditedChange): ObjectLiteral {
  return { resource, record: String(id), action, principal: principal.id, changes }
}
