/** Prepared statements of the drivers, for endpoints written by hand. */
import Database from 'better-sqlite3'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { engineOf } from '../engines'
import { database } from '../serve'

export type Row = Readonly<Record<string, unknown>>

/** Runs a statement with `?` as placeholder. */
export type Statement = (values: readonly unknown[]) => Promise<readonly Row[]> | readonly Row[]

/** Opens the database of this process, and returns a function that prepares statements. */
export function openDatabase(): (sql: string) => Statement {
  const engine = engineOf(database)
  if (engine === 'postgres') {
    const pool = new Pool({ connectionString: database })
    let statements = 0
    return (sql) => {
      const name = `statement${statements++}`
      let placeholders = 0
      const text = sql.replace(/\?/g, () => `$${++placeholders}`)
      return async (values) => (await pool.query({ name, text, values: [...values] })).rows
    }
  }
  if (engine === 'mariadb') {
    const pool = createPool(database)
    return (sql) => async (values) => (await pool.execute(sql, values as (string | number)[]))[0] as Row[]
  }
  const connection = new Database(database)
  return (sql) => {
    const statement = connection.prepare(sql)
    return (values) => statement.all(...values) as Row[]
  }
}
