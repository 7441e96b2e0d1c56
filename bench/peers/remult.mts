/**
 * remult on Fastify, with which it is faster than on Hono, Hapi and Express. This file is an ES module, because remult's CommonJS
 * build is compiled to ES5 and takes 1.5 times as long.
 */
import fastify from 'fastify'
import { Entity, Fields, Filter, SqlDatabase, Validators, ValueConverters } from 'remult'
import { remultApi } from 'remult/remult-fastify'
import { KnexDataProvider } from 'remult/remult-knex'
import { engineOf } from '../engines.js'
import { database, serve } from '../serve.js'
import { openRemultDatabase } from './remult-database.mjs'

const engine = engineOf(database)

/** TypeORM stores date-times as text in SQLite, in a notation of its own. */
const sqliteDates = {
  ...ValueConverters.Date,
  toDb: (value: Date) => value.toISOString().replace('T', ' ').slice(0, 23),
  fromDb: (value: string) => new Date(`${value.replace(' ', 'T')}Z`),
}

@Entity('notes', { allowApiCrud: true })
class Note {
  @Fields.autoIncrement() id = 0
  @Fields.string({ validate: Validators.required }) title = ''
  @Fields.string({ validate: Validators.required }) body = ''
  @Fields.integer() score = 0
  @Fields.boolean() published = false
  @Fields.createdAt(engine === 'sqlite' ? { valueConverter: sqliteDates } : {}) created = new Date(0)
  @Fields.integer() authorId = 0

  /** remult filters by fields of related entities only with SQL of the application. */
  static byAuthor = Filter.createCustom<Note, { readonly username: string }>(({ username }) =>
    engine === 'mariadb'
      ? KnexDataProvider.rawFilter(async () => (builder) => {
          builder.whereRaw('authorId IN (SELECT id FROM users WHERE username = ?)', [username])
        })
      : SqlDatabase.rawFilter(
          ({ param }) => `"authorId" IN (SELECT "id" FROM "users" WHERE "username" = ${param(username)})`,
        ),
  )
}

serve(async () => {
  const app = fastify()
  await app.register(
    remultApi({
      entities: [Note],
      dataProvider: await openRemultDatabase(),
      ensureSchema: false,
      logApiEndPoints: false,
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
})
