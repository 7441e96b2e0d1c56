import type { ObjectLiteral } from 'typeorm'
import { callListeners } from '../connection/call-listeners'
import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { hasProperty } from '../read/entity'
import { buildRowReader } from '../read/row'
import { buildReadColumn } from '../schema/stored-column'
import { insertReturning } from './insert-many'
import type { InsertTarget } from './insert-target'

/**
 * Inserts entities as TypeORM's repository does: it calls their listeners and subscribers, and sets the values that the database
 * has generated. The statements are those of this service: their time is limited.
 */
export async function insertWithListeners(
  session: DbTransaction,
  target: InsertTarget,
  entities: readonly ObjectLiteral[],
): Promise<void> {
  const { runner, dataSource } = session
  const { metadata } = target.view
  for (const entity of entities) {
    await callListeners(runner, 'BeforeInsert', metadata, entity)
    await pause(session)
  }
  const generated = metadata.getInsertionReturningColumns().map((column) => buildReadColumn(column, dataSource))
  const rows = await insertReturning(session, target, entities, generated)
  const readRow = buildRowReader(generated, dataSource)
  for (const [index, entity] of entities.entries()) {
    const row = readRow(rows[index] ?? [])
    for (const [position, { column }] of generated.entries()) {
      if (hasProperty(column)) column.setEntityValue(entity, row[position])
    }
    await callListeners(runner, 'AfterInsert', metadata, entity, metadata.getEntityIdMap(entity))
    await pause(session)
  }
}
