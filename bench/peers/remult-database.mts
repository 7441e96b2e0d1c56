import Database from 'better-sqlite3'
import { type DataProvider, SqlDatabase } from 'remult'
import { createPostgresDataProvider } from 'remult/postgres'
import { BetterSqlite3DataProvider } from 'remult/remult-better-sqlite3'
import { createKnexDataProvider } from 'remult/remult-knex'
import { engineOf } from '../engines.js'
import { database } from '../serve.js'

function openSqlite(): SqlDatabase {
  const connection = new Database(database)
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = NORMAL')
  return new SqlDatabase(new BetterSqlite3DataProvider(connection))
}

/** Opens the database of this process. For MariaDB, remult needs Knex. */
export function openRemultDatabase(): Promise<DataProvider> | DataProvider {
  const engine = engineOf(database)
  if (engine === 'sqlite') return openSqlite()
  if (engine === 'postgres') return createPostgresDataProvider({ connectionString: database })
  return createKnexDataProvider({ client: 'mysql2', connection: database })
}
