import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import type { AuditedChange, AuditLog } from '../connection/change-events'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { mapWithPauses } from '../connection/pauses'
import { dialectOf } from '../dialect/dialect-of'
import { presetValues } from '../query/presets'
import { assign } from '../read/entity'
import { valueTypeOf } from '../schema/column-value-type'
import { lifecycleOf } from '../schema/lifecycle'
import type { ColumnMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'
import { insertReturning } from './insert-many'
import { insertWithListeners } from './insert-with-listeners'
import { jsonLength } from './record-parts'

/**
 * Maximum number of characters of the values in one statement. As JSON, they have up to six bytes each, and by default MariaDB
 * accepts statements of 16 MiB.
 */
const maxStatementText = 2 * 1024 * 1024

/**
 * Builds the audit log of a mount, which inserts an entity for each change (specification: Audit log).
 * @param views returns the views of the resources. If the entity is one of them, its option `preset` applies to entries
 * @returns undefined for an entity of another data source, which is reported elsewhere
 */
export function buildAuditLog(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  views: () => readonly ResourceView[],
): AuditLog<DbTransaction> | undefined {
  if (!dataSource.hasMetadata(entity)) return undefined
  const metadata = dataSource.getMetadata(entity)
  const { name, columns, tablePath } = metadata
  const columnOf = (property: string): ColumnMetadata | undefined =>
    columns.find(({ propertyPath }) => propertyPath === property)
  const [changesColumn, principalColumn] = [columnOf('changes'), columnOf('principal')]
  if (changesColumn !== undefined) warnIfShort(dataSource, name, changesColumn)
  const hasTextPrincipal = principalColumn !== undefined && valueTypeOf(principalColumn, dataSource)?.name === 'text'
  const table = { dataSource, dialect: dialectOf(dataSource), view: { metadata, cacheKey: 'audit log' } }
  const hasListeners = lifecycleOf(metadata, dataSource).write
  const insert = hasListeners ? insertWithListeners : insertReturning
  return {
    insert: async (session, changes) => {
      const view = views().find((one) => one.metadata === metadata)
      for (const part of await statementsOf(session, changes)) {
        const entries = part.map((change) => toEntry(change, view, hasTextPrincipal))
        await insert(session, table, entries)
      }
      // The listeners of live lists receive the entries of the other case as events.
      if (!hasListeners) {
        session.observer.recordTable(session.runner, { table: tablePath, ids: undefined, isDeletion: false })
      }
    },
  }
}

/** Warns of a column that TypeORM declares as `text` on MySQL and MariaDB: it holds fewer bytes than a field of a record. */
function warnIfShort({ driver, logger }: DataSource, entity: string, column: ColumnMetadata): void {
  if (driver.options.type !== 'mysql' && driver.options.type !== 'mariadb') return
  if (!['text', 'tinytext'].includes(driver.normalizeType(column))) return
  const advice = 'give it the type json or longtext, as writes with larger changes fail'
  logger.log('warn', `typeorm-resources: ${entity}.changes of the audit log has at most 64 KiB: ${advice}`)
}

/** Divides changes into parts whose entries can be inserted by one statement, in their order. */
async function statementsOf(
  session: DbSession,
  changes: readonly AuditedChange[],
): Promise<readonly (readonly AuditedChange[])[]> {
  const sizes = await mapWithPauses(session, changes, (change) => jsonLength(change.changes))
  const parts: AuditedChange[][] = []
  let room = 0
  for (const [index, change] of changes.entries()) {
    const size = sizes[index] ?? 0
    if (parts.length === 0 || size > room) {
      parts.push([])
      room = maxStatementText
    }
    room -= size
    parts.at(-1)?.push(change)
  }
  return parts
}

/**
 * The properties of an entry. It is a plain object, so that methods of its class are not called.
 * @param view of the entries; undefined if they are not a resource
 * @param hasTextPrincipal whether the id of the principal is stored as a text. better-sqlite3 would store the number 1 as 1.0
 */
function toEntry(change: AuditedChange, view: ResourceView | undefined, hasTextPrincipal: boolean): ObjectLiteral {
  const { resource, id, action, changes, principal } = change
  const entry: ObjectLiteral = {}
  if (view !== undefined) assign(entry, presetValues(view, principal))
  const principalId = hasTextPrincipal && principal.id !== null ? String(principal.id) : principal.id
  return Object.assign(entry, { resource, record: String(id), action, principal: principalId, changes })
}
