import { ZenStackClient } from '@zenstackhq/orm'
import { MysqlDialect } from '@zenstackhq/orm/dialects/mysql'
import { PostgresDialect } from '@zenstackhq/orm/dialects/postgres'
import { SqliteDialect } from '@zenstackhq/orm/dialects/sqlite'
import type { SchemaDef } from '@zenstackhq/schema'
import { RPCApiHandler } from '@zenstackhq/server/api'
import { ZenStackFastifyPlugin } from '@zenstackhq/server/fastify'
import Database from 'better-sqlite3'
import fastify from 'fastify'
import { createPool } from 'mysql2'
import { Pool } from 'pg'
import { engineOf } from '../engines.js'
import { database, serve } from '../serve.js'
import type { Models } from './zenstack-schema.mjs'

function openSqlite(): SqliteDialect {
  const connection = new Database(database)
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = NORMAL')
  return new SqliteDialect({ database: connection })
}

const engines = {
  sqlite: { type: 'sqlite', open: openSqlite },
  postgres: {
    type: 'postgresql',
    open: () => new PostgresDialect({ pool: new Pool({ connectionString: database }) }),
  },
  mariadb: { type: 'mysql', open: () => new MysqlDialect({ pool: createPool(database) }) },
} as const

/** Serves models with ZenStack's RPC handler on Fastify, under `/model`. */
export function serveZenStack(models: Models): void {
  serve(async () => {
    const { type, open } = engines[engineOf(database)]
    const schema: SchemaDef = { provider: { type }, plugins: {}, models }
    const client = new ZenStackClient(schema, { dialect: open() })
    const app = fastify()
    await app.register(ZenStackFastifyPlugin, {
      prefix: '/model',
      apiHandler: new RPCApiHandler({ schema }) as never,
      // The types of the two packages do not agree under `exactOptionalPropertyTypes`.
      getClient: () => client as never,
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server
  })
}
