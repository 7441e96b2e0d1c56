import { createServer } from 'node:http'
import { inspect } from 'node:util'
import Koa from 'koa'
import type { DataSource, DataSourceOptions } from 'typeorm'
import { hashPassword, type Mounted, type MountOptions, mountResources } from 'typeorm-resources'
import { listen } from '../support/listen'
import { entities, Language, Message, Note, User, Vault } from './entities'
import { createDataSource, dropDatabase, leg, recorder, sqlOf } from './leg'
import { canariesIn, languages, messages, notes, users, vaults } from './seed'
import { shuffleColumns } from './vary'

/** A running service with its own database, for the tests of a file. */
export interface World {
  readonly url: string
  readonly app: Koa
  readonly dataSource: DataSource
  readonly mounted: Mounted
  /** Runs an SQL statement. Identifiers are in double quotes. */
  readonly sql: (text: string) => Promise<readonly Record<string, unknown>[]>
  /** Returns the SQL statements that were logged since the last call. */
  readonly statements: () => readonly string[]
  /** Errors that reached Koa's `error` event. */
  readonly faults: readonly unknown[]
  readonly close: () => Promise<void>
}

/** Options of a world. */
export interface WorldOptions {
  readonly entities?: DataSourceOptions['entities']
  readonly mount?: MountOptions
  /** Options of the data source. */
  readonly source?: Partial<DataSourceOptions>
  /** Fills the database before the service is mounted. */
  readonly seed?: (dataSource: DataSource) => Promise<void>
  /** Seed for the order in which the columns of all entities are declared: `vary.ts`. Default: `leg.seed`. */
  readonly columnOrder?: number
  /** Adds middleware before the mount. */
  readonly before?: (app: Koa) => void
  /** Mounts the resources. Default: `mountResources(app, dataSource, mount)`. */
  readonly mountOn?: (app: Koa, dataSource: DataSource) => Pick<Mounted, 'resources'>
}

/** Creates and fills a database (by default with the rows of `seed.ts`) and serves it on a free port. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const statements: string[] = []
  const logged: string[] = []
  // The mount reads the database settings asynchronously, at an unpredictable time: these statements are not recorded.
  const record = (sql: string): void => void (isAboutSettings(sql) || statements.push(sql))
  const log = (line: string): void => void logged.push(line)
  shuffleColumns(options.columnOrder ?? leg.seed)
  const dataSource = await openDataSource(options.entities ?? entities, record, options.source, log)
  await (options.seed ?? (options.entities === undefined ? (source) => seedWorld(source) : async () => {}))(dataSource)
  const app = new Koa()
  const faults: unknown[] = []
  app.on('error', (error) => faults.push(error))
  const requireNoCanary = (): void => {
    const found = canariesIn(inspect([faults, logged], { depth: 8, maxStringLength: null }))
    if (found !== '') throw new Error(`an error event or a log line contains the hidden value ${found}`)
  }
  options.before?.(app)
  const mounted = (options.mountOn?.(app, dataSource) ?? mountResources(app, dataSource, options.mount)) as Mounted
  const server = createServer(app.callback())
  // Longer than any pause of a test: a request on a connection that the server is closing would fail.
  server.keepAliveTimeout = 60_000
  return {
    url: await listen(server),
    app,
    dataSource,
    mounted,
    sql: (text) => dataSource.query(sqlOf(text)),
    statements: () => statements.splice(0),
    faults,
    close: async () => {
      await new Promise((resolve) => server.close(resolve))
      await dataSource.destroy()
      await dropDatabase(dataSource)
      requireNoCanary()
    },
  }
}

/** Creates and initializes a data source with a new empty database. */
export async function openDataSource(
  given: DataSourceOptions['entities'],
  onQuery: (sql: string) => void = () => {},
  options: Partial<DataSourceOptions> = {},
  onLog?: (line: string) => void,
): Promise<DataSource> {
  const logger = recorder(onQuery, onLog)
  const dataSource = await createDataSource({ ...options, entities: given ?? [], synchronize: true, logger })
  return dataSource.initialize()
}

function isAboutSettings(sql: string): boolean {
  const ofServers = /\/ SHOW statement_timeout$|\/ SELECT lower\(|FROM pg_settings|FROM information_schema\.tables/
  return ofServers.test(sql) || /pragma_foreign_keys|pragma_database_list/.test(sql)
}

/** Inserts the rows of `seed.ts`. @param toRow converts a row, for entities with another key type */
export async function seedWorld(
  dataSource: DataSource,
  toRow: (resource: string, row: object) => unknown = (_, row) => row,
): Promise<void> {
  const insert = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    dataSource
      .createQueryBuilder()
      .insert()
      .into(entity)
      .values(rows.map((row) => toRow(entity.name.toLowerCase(), row) as object))
      .execute()
  await insert(User, await Promise.all(users.map(withPassword)))
  await insert(Vault, vaults)
  for (const { created, ...note } of notes) {
    await insert(Note, [{ ...note, created: new Date(`${created.replace(' ', 'T')}Z`) }])
  }
  await insert(Message, messages)
  await insert(Language, languages)
}

/** Hashes by password: one takes 25 ms of CPU time, and most tests open a world. */
const hashes = new Map<string, Promise<string>>()

async function withPassword(user: (typeof users)[number]): Promise<object> {
  const { passwordless, ...row } = { passwordless: false, ...user }
  const hash = hashes.get(user.username) ?? hashPassword(user.username)
  hashes.set(user.username, hash)
  return { ...row, password: passwordless ? null : await hash }
}
