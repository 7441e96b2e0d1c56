import { callListeners } from '../connection/call-listeners'
import type { DbSession } from '../connection/db-session'
import type { Resource } from '../schema/registry'
import { hasProperty, metadataOf, toEntity } from './entity'
import type { Row } from './row'

/** The rows as they are after `@AfterLoad` and subscribers have seen them, where there are any. */
export async function afterLoad(session: DbSession, resource: Resource, rows: readonly Row[]): Promise<readonly Row[]> {
  if (!resource.lifecycle.load || rows.length === 0) return rows
  const loaded = rows.map((row) => ({ row, metadata: metadataOf(resource, row), entity: toEntity(resource, row) }))
  // It takes a connection when a listener asks for something, and not before.
  const runner = session.runner ?? session.dataSource.createQueryRunner()
  try {
    for (const metadata of new Set(loaded.map((one) => one.metadata))) {
      const entities = loaded.filter((one) => one.metadata === metadata).map(({ entity }) => entity)
      await callListeners(runner, 'Load', metadata, entities)
    }
  } finally {
    if (runner !== session.runner) await runner.release()
  }
  return loaded.map(({ entity, row }) =>
    // What no property holds is as it was.
    resource.columns.map(({ column }, index) => (hasProperty(column) ? column.getEntityValue(entity) : row[index])),
  )
}
