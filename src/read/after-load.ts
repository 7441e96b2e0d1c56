import { callListeners } from '../connection/call-listeners'
import { type DbSession, newRunner } from '../connection/db-session'
import { mapWithPauses } from '../connection/pauses'
import { showPrincipal } from '../connection/show-principal'
import { type RawRow, runInTransaction } from '../connection/statement'
import type { ResourceView } from '../schema/resource-view'
import { hasProperty, metadataOf, toEntity } from './entity'
import type { JsonRecord } from './record'
import type { Row } from './row'
import type { Store } from './store'

/**
 * Calls `@AfterLoad` methods and subscribers with entities built from the rows. Other requests may run in between.
 * @returns the rows with the changes of these listeners; the same rows if the resource has no load listeners
 */
export async function afterLoad(session: DbSession, view: ResourceView, rows: readonly Row[]): Promise<readonly Row[]> {
  if (!view.lifecycle.load || rows.length === 0) return rows
  if (session.settings !== undefined && session.runner === undefined) {
    // The settings apply to the statements of listeners too, which need a transaction for that. It counts as a write: listeners
    // may write, or query through the data source.
    return runInTransaction({ ...session, replica: false }, (inner) => afterLoad(inner, view, rows))
  }
  const loadedRows = await mapWithPauses(session, rows, (row) => {
    return { row, metadata: metadataOf(view, row), entity: toEntity(view, row) }
  })
  // A new query runner acquires a connection only when a listener runs a statement.
  const runner = session.runner ?? newRunner({ ...session, replica: false })
  const callAll = async (): Promise<void> => {
    for (const metadata of new Set(loadedRows.map((loaded) => loaded.metadata))) {
      const entities = loadedRows.filter((loaded) => loaded.metadata === metadata).map(({ entity }) => entity)
      await callListeners(runner, 'Load', metadata, entities)
    }
  }
  try {
    if (runner === session.runner) await callAll()
    else await showPrincipal({ ...session, runner }, callAll)
  } finally {
    if (runner !== session.runner) await runner.release()
  }
  return mapWithPauses(session, loadedRows, ({ entity, row }) =>
    // Columns without a property keep the value of the row.
    view.columns.map(({ column }, index) => (hasProperty(column) ? column.getEntityValue(entity) : row[index])),
  )
}

/** Renders rows as records, after `@AfterLoad` listeners if there are any. Other requests may run in between. */
export async function toRecords(
  session: DbSession,
  { view, selected, rawRenderer, rowRenderer }: Store,
  rows: readonly RawRow[],
): Promise<readonly JsonRecord[]> {
  if (!view.lifecycle.load) return mapWithPauses(session, rows, rawRenderer.toRecord)
  const loaded = await afterLoad(session, view, await mapWithPauses(session, rows, selected.columns.readRow))
  return mapWithPauses(session, loaded, rowRenderer.toRecord)
}
