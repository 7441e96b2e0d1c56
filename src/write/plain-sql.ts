import type { DataSource } from 'typeorm'
import type { Bind } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { executeWrite, type RawRow } from '../connection/statement'
import { withComment } from '../dialect/statement-comment'
import { columnSql, toBindParameter } from '../read/row'
import type { ReadColumn } from '../schema/stored-column'

/**
 * Runs a statement that TypeORM's query builder cannot write.
 * @param write returns the SQL, which uses each bound value once and in order
 */
export async function runSql(session: DbSession, write: (bind: Bind) => string): Promise<readonly RawRow[]> {
  const { driver } = session.dataSource
  const values: unknown[] = []
  const bind: Bind = (value) => {
    const index = values.push(value) - 1
    return driver.createParameter(`value_${index}`, index)
  }
  const sql = withComment(write(bind))
  const sources = values.map((_, index) => ({ index, constant: undefined }))
  const { records } = await executeWrite(session, { sql, sources }, values)
  return records
}

/** Condition that columns are equal to values, which must not be null. */
export function equalSql(
  dataSource: DataSource,
  columns: readonly ReadColumn[],
  values: readonly unknown[],
  bind: Bind,
): string {
  const equal = (column: ReadColumn, index: number): string =>
    `${columnSql(dataSource, column)} = ${bind(toBindParameter(dataSource, column, values[index]))}`
  return columns.map(equal).join(' AND ')
}
