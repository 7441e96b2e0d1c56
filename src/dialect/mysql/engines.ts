import type { DataSource } from 'typeorm'
import { lacksTransactions } from '../../schema/check-engine'
import type { RunSql } from '../run-sql'

/**
 * Warns of tables of entities whose storage engine has no transactions: the default of the server may be such an engine.
 * A write that is refused after it was done would be stored, and so would each part of a transaction that fails.
 */
export async function engineWarnings({ entityMetadatas }: DataSource, runSql: RunSql): Promise<readonly string[]> {
  const rows = await runSql(
    'SELECT table_name AS name, engine AS engine FROM information_schema.tables WHERE table_schema = database()',
  )
  const tables = new Set(entityMetadatas.map(({ tableName }) => tableName))
  const unsafe = rows.filter(({ name, engine }) => tables.has(String(name)) && lacksTransactions(String(engine)))
  if (unsafe.length === 0) return []
  const names = unsafe.map(({ name, engine }) => `${name} (${engine})`).join(', ')
  return [
    `these tables have an engine without transactions: ${names}. Writes that are refused can be stored there: use InnoDB`,
  ]
}
