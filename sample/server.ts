import type { DataSource, DataSourceOptions } from 'typeorm'
import { entities } from './entities'
import { UserError } from './user-error'

/** Where the sample keeps its data. */
export interface Store {
  /** For messages, so without the password. */
  readonly name: string
  readonly options: DataSourceOptions
}

/** Types of servers by the schemes of their URLs. */
const types: ReadonlyMap<string, 'postgres' | 'mysql' | 'mariadb'> = new Map([
  ['postgres:', 'postgres'],
  ['postgresql:', 'postgres'],
  ['mysql:', 'mysql'],
  ['mariadb:', 'mariadb'],
])

/** Milliseconds that a server has to answer, which PostgreSQL's driver would give it without end. */
const patience = 10_000

export function serverAt(text: string): Store {
  const example = 'as in postgres://user:password@127.0.0.1:5432/world'
  if (!URL.canParse(text)) throw new UserError(`DATABASE_URL must be a URL, ${example}`)
  const { protocol, host, pathname } = new URL(text)
  const type = types.get(protocol)
  if (type === undefined) {
    throw new UserError(`DATABASE_URL must begin with postgres:// or mysql://, not with ${protocol}//, ${example}`)
  }
  if (pathname.length < 2) throw new UserError(`DATABASE_URL must name a database, ${example}`)
  const timeout = type === 'postgres' ? { connectTimeoutMS: patience } : { connectTimeout: patience }
  return {
    name: `${protocol}//${host}${pathname}`,
    options: { type, url: text, entities, ...timeout } as DataSourceOptions,
  }
}

/**
 * Refuses a database that holds anything but the sample's tables, so that neither the synchronization nor a reset touches what
 * is somebody else's: the sample's `user` is hardly the only table of that name.
 */
export async function prepareServer(dataSource: DataSource, isReset: boolean): Promise<void> {
  const own = dataSource.entityMetadatas.map(({ tableName }) => tableName)
  const schema = dataSource.options.type === 'postgres' ? 'current_schema()' : 'DATABASE()'
  const rows: readonly { name: string }[] = await dataSource.query(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ${schema}`,
  )
  const found = rows.map(({ name }) => name).toSorted()
  if (found.length > 0 && found.join() !== own.toSorted().join()) {
    throw new Error(`it must be empty, or hold the sample's tables and no others, not ${found.join(', ')}`)
  }
  // Those that refer to others come before them.
  if (isReset)
    for (const name of own.toReversed()) await dataSource.query(`DROP TABLE IF EXISTS ${quote(dataSource, name)}`)
}

/** TypeORM creates no CHECK on MySQL and MariaDB. */
export async function addChecks(dataSource: DataSource): Promise<void> {
  if (!['mysql', 'mariadb'].includes(dataSource.options.type)) return
  for (const { tableName, checks } of dataSource.entityMetadatas) {
    for (const { name = '', expression } of checks) {
      const [table, constraint] = [tableName, name].map((text) => quote(dataSource, text))
      await dataSource.query(`ALTER TABLE ${table} ADD CONSTRAINT ${constraint} CHECK (${expression})`)
    }
  }
}

const quote = (dataSource: DataSource, name: string): string => dataSource.driver.escape(name)

/** Why a database could not be opened, in words. */
export function reasonOf(error: unknown): string {
  const { message, code = '' } = error as NodeJS.ErrnoException
  if (unreachable.has(code)) return `no server answers there (${code})`
  if (code === '3D000' || code === 'ER_BAD_DB_ERROR') return 'the server has no such database, create it first'
  if (message.startsWith('Could not locate the bindings file')) {
    return 'its driver is not compiled, run "npm rebuild better-sqlite3 sqlite3"'
  }
  return message
}

const unreachable: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
])
