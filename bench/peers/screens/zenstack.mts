/** The pages of ZenStack's RPC handler on Fastify. */

import { ZenStackClient } from '@zenstackhq/orm'
import { SqliteDialect } from '@zenstackhq/orm/dialects/sqlite'
import { RPCApiHandler } from '@zenstackhq/server/api'
import { ZenStackFastifyPlugin } from '@zenstackhq/server/fastify'
import Database from 'better-sqlite3'
import fastify from 'fastify'
import { database, serve } from '../../serve.js'
import { schema } from './zenstack-schema.mjs'

serve(async () => {
  const client = new ZenStackClient(schema, { dialect: new SqliteDialect({ database: new Database(database) }) })
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
