import Database from 'better-sqlite3'
import { Pool } from 'pg'
import { database } from '../serve'
import type { Row, Spelling } from './handwritten'

/** The database of this process, through its bare driver. */
export function openSpelling(): Spelling {
  return database.startsWith('postgres:') ? openPostgres() : openSqlite()
}

function openSqlite(): Spelling {
  const connection = new Database(database)
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = NORMAL')
  connection.pragma('foreign_keys = ON')
  const statements = new Map<string, Database.Statement>()
  return {
    ask: (sql, values) => {
      let statement = statements.get(sql)
      if (statement === undefined) {
        statement = connection.prepare(sql)
        statements.set(sql, statement)
      }
      return statement.all(...values) as Row[]
    },
    at: () => '?',
    dateTime: (stored) => String(stored).slice(0, 19),
    instant: (stored) => Date.parse(`${String(stored).replace(' ', 'T')}Z`),
    boolean: Number,
  }
}

function openPostgres(): Spelling {
  const pool = new Pool({ connectionString: database })
  const names = new Map<string, string>()
  return {
    ask: async (text, values) => {
      const name = names.get(text) ?? `s${names.size}`
      names.set(text, name)
      return (await pool.query({ name, text, values: [...values] })).rows
    },
    at: (place) => `$${place}`,
    dateTime: (stored) => (stored as Date).toISOString().slice(0, 19).replace('T', ' '),
    instant: (stored) => (stored as Date).getTime(),
    boolean: (value) => value,
  }
}
