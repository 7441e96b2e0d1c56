import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import type { AuditedChange, AuditLog } from '../connection/change-events'
import type { DbTransaction } from '../connection/db-session'
import { dialectOf } from '../dialect/dialect-of'
import { presetValues } from '../query/presets'
import { assign } from '../read/entity'
import { lifecycleOf } from '../schema/lifecycle'
import type { ResourceView } from '../schema/resource-view'
import { insertUnread } from './insert-many'

/** Properties that the entity of an audit log must have. */
const properties = ['resource', 'record', 'action', 'principal', 'changes'] as const

/** Maximum number of entries with listeners that one statement inserts. */
const maxEntries = 100

/**
 * Builds the audit log of a mount, which inserts an entity for each change (specification: Audit log).
 * @param views returns the views of the resources. If the entity is one of them, its option `preset` applies to entries
 * @param mistakes receives the mistakes in the entity
 */
export function buildAuditLog(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  views: () => readonly ResourceView[],
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
      const view = views().find((one) => one.metadata === metadata)
      const entries = changes.map((change) => toEntry(change, view))
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

/** The values of an entry. @param view of the entries; undefined if they are not a resource */
function toEntry(change: AuditedChange, view: ResourceView | undefined): ObjectLiteral {
  const { resource, id, action, principal, changes } = change
  const entry: ObjectLiteral = {}
  if (view !== undefined) assign(entry, presetValues(view, principal))
  return Object.assign(entry, { resource, record: String(id), action, principal: principal.id, changes })
}
