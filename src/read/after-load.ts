import { callListeners } from '../connection/call-listeners'
import type { DbSession } from '../connection/db-session'
import type { Resource } from '../schema/registry'
import { hasProperty, metadataOf, toEntity } from './entity'
import type { Row } from './row'

/**
 * Calls `@AfterLoad` methods and subscribers with entities built from the rows.
 * @returns the rows with the changes of these listeners; the same rows if the resource has no load listeners
 */
export async function afterLoad(session: DbSession, resource: Resource, rows: readonly Row[]): Promise<readonly Row[]> {
  if (!resource.lifecycle.load || rows.length === 0) return rows
  const loadedRows = rows.map((row) => ({ row, metadata: metadataOf(resource, row), entity: toEntity(resource, row) }))
  // A new query runner acquires a connection only when a listener runs a statement.
  const runner = session.runner ?? session.dataSource.createQueryRunner()
  try {
    for (const metadata of new Set(loadedRows.map((loaded) => loaded.metadata))) {
      const entities = loadedRows.filter((loaded) => loaded.metadata === metadata).map(({ entity }) => entity)
      await callListeners(runner, 'Load', metadata, entities)
    }
  } finally {
    if (runner !== session.runner) await runner.release()
  }
  return loadedRows.map(({ entity, row }) =>
    // Columns without a property keep the value of the row.
    resource.columns.map(({ column }, index) => (hasProperty(column) ? column.getEntityValue(entity) : row[index])),
  )
}
