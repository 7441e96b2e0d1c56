import { randomBytes } from 'node:crypto'
import { type ColumnOptions, DataSource, type DataSourceOptions, type Logger, type LogLevel } from 'typeorm'

/** Database and driver that the tests run on. jest.config.js sets it for each project as the global `testLeg`. */
export interface Leg {
  readonly name: string
  readonly driver: 'better-sqlite3' | 'sqlite' | 'postgres' | 'mariadb' | 'mysql'
  /** Seed for the order in which columns are declared (`vary.ts`); 0 keeps the order of the classes. */
  readonly seed: number
}

declare global {
  var testLeg: Leg | undefined
}

/** The leg that the tests run on. */
export const leg: Leg = globalThis.testLeg ?? { name: '1.1 better-sqlite3', driver: 'better-sqlite3', seed: 0 }

export const isPostgres = leg.driver === 'postgres'
/** Whether the server is MariaDB, with the driver `mariadb` or `mysql`. */
export const isMariadb = leg.driver === 'mariadb' || leg.driver === 'mysql'
/** Whether the database is none of the others. */
export const isSqlite = !isPostgres && !isMariadb

/** Equivalent column types of the databases. */
export const types: Readonly<Record<'instant' | 'binary', ColumnOptions>> = {
  /** Date-time with milliseconds. */
  instant: isPostgres ? { type: 'timestamptz' } : isMariadb ? { type: 'datetime', precision: 3 } : { type: 'datetime' },
  binary: { type: isPostgres ? 'bytea' : 'blob' },
}

type Options = Partial<DataSourceOptions> & Pick<DataSourceOptions, 'entities'>

/** Creates a new empty database and a data source for it, which is not yet initialized. */
export async function createDataSource(options: Options): Promise<DataSource> {
  const name = `${process.env['TEST_RUN']}_${randomBytes(4).toString('hex')}`
  if (isPostgres) {
    const url = process.env['TEST_POSTGRES_RUN_URL'] ?? ''
    await once({ type: 'postgres', url }, `CREATE SCHEMA ${name}`)
    // Lets tests write SQL without the name of the schema.
    const { options: own = '' } = Object(Object(options).extra) as { readonly options?: string }
    const extra = { options: `-c search_path=${name},public ${own}`.trim() }
    return new DataSource({ poolSize: 4, ...options, type: 'postgres', url, schema: name, extra } as DataSourceOptions)
  }
  if (isMariadb) {
    const url = process.env['TEST_MARIADB_URL'] ?? ''
    await once({ type: 'mariadb', url }, `CREATE DATABASE ${name}`)
    const own = new URL(url)
    own.pathname = `/${name}`
    return new DataSource({ ...options, type: leg.driver, url: own.href } as DataSourceOptions)
  }
  return new DataSource({ database: ':memory:', ...options, type: leg.driver } as DataSourceOptions)
}

/**
 * Drops what {@link createDataSource} has created. TypeORM's `synchronize` reads the tables of all databases, so that it
 * would take longer with every database of a run.
 */
export async function dropDatabase({ options }: DataSource): Promise<void> {
  const { schema, url = '' } = options as { readonly schema?: string; readonly url?: string }
  if (isPostgres) await once({ type: 'postgres', url }, `DROP SCHEMA ${schema} CASCADE`)
  else if (isMariadb) await once({ type: 'mariadb', url }, `DROP DATABASE ${new URL(url).pathname.slice(1)}`)
}

async function once(options: DataSourceOptions, sql: string): Promise<void> {
  const dataSource = await new DataSource(options).initialize()
  await dataSource.query(sql)
  await dataSource.destroy()
}

/** Converts SQL of a test, whose identifiers are in double quotes (standard SQL), to the database's syntax. */
export function sqlOf(text: string): string {
  return isMariadb ? text.replaceAll('"', '`') : text
}

/** Logger that passes statements and log lines to the callbacks and prints nothing. */
export function recorder(onQuery: (sql: string) => void, onLog: (line: string) => void = () => {}): Logger {
  return {
    logQuery: onQuery,
    logQueryError: () => {},
    logQuerySlow: () => {},
    logSchemaBuild: () => {},
    logMigration: () => {},
    log: (level: LogLevel | string, line: unknown) => onLog(`${level} ${line}`),
  } as Logger
}
