import Database from 'better-sqlite3'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { type Engine, engineOf } from '../engines'
import { database } from '../serve'
import type { DatabaseAdapter, Row } from './handwritten'

const adapters: Readonly<Record<Engine, () => DatabaseAdapter>> = {
  sqlite: openSqlite,
  postgres: openPostgres,
  mariadb: openMariadb,
}

/** Opens the database of this process with its driver. */
export const openDatabase = (): DatabaseAdapter => adapters[engineOf(database)]()

function openSqlite(): DatabaseAdapter {
  const connection = new Database(database)
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = NORMAL')
  connection.pragma('foreign_keys = ON')
  const statements = new Map<string, Database.Statement>()
  return {
    query: (sql, values) => {
      let statement = statements.get(sql)
      if (statement === undefined) {
        statement = connection.prepare(sql)
        statements.set(sql, statement)
      }
      return statement.all(...values) as Row[]
    },
    updateReturns: true,
    placeholder: () => '?',
    dateTime: (stored) => String(stored).slice(0, 19),
    milliseconds: (stored) => Date.parse(`${String(stored).replace(' ', 'T')}Z`),
    boolean: Number,
  }
}

/** How the drivers of both servers return date-times. */
const dates = {
  dateTime: (stored: unknown) => (stored as Date).toISOString().slice(0, 19).replace('T', ' '),
  milliseconds: (stored: unknown) => (stored as Date).getTime(),
}

function openPostgres(): DatabaseAdapter {
  const pool = new Pool({ connectionString: database })
  const names = new Map<string, string>()
  return {
    query: async (text, values) => {
      const name = names.get(text) ?? `s${names.size}`
      names.set(text, name)
      return (await pool.query({ name, text, values: [...values] })).rows
    },
    updateReturns: true,
    placeholder: (index) => `$${index}`,
    ...dates,
    boolean: (value) => value,
  }
}

function openMariadb(): DatabaseAdapter {
  const pool = createPool(database)
  const texts = new Map<string, string>()
  return {
    query: async (sql, values) => {
      let text = texts.get(sql)
      if (text === undefined) {
        text = sql.replaceAll('"', '`')
        texts.set(sql, text)
      }
      return (await pool.execute(text, values as (string | number)[]))[0] as Row[]
    },
    updateReturns: false,
    placeholder: () => '?',
    ...dates,
    boolean: Number,
  }
}
