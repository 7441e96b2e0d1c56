/** The databases on which the benchmark runs. */
export const engines = ['sqlite', 'postgres', 'mariadb'] as const
export type Engine = (typeof engines)[number]

/** Names for tables and messages. */
export const engineTitles: Readonly<Record<Engine, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  mariadb: 'MariaDB',
}

/** The engine of a database, which is the path of a SQLite file or the URL of a server. */
export function engineOf(database: string): Engine {
  if (/^postgres(ql)?:/.test(database)) return 'postgres'
  return /^(mysql|mariadb):/.test(database) ? 'mariadb' : 'sqlite'
}

/**
 * TypeORM's options for a connection, without entities. This file does not import TypeORM, because the peers have a copy of
 * their own.
 */
export function connectionOptions(database: string) {
  const engine = engineOf(database)
  if (engine !== 'sqlite') return { type: engine, url: database }
  return {
    type: 'better-sqlite3' as const,
    database,
    enableWAL: true,
    // A commit does not wait for the disk, so that the benchmark measures code.
    prepareDatabase: (connection: { readonly pragma: (source: string) => unknown }): void => {
      connection.pragma('synchronous = NORMAL')
    },
  }
}

/** URLs of databases on servers, whose tables are replaced: `BENCH_POSTGRES_URL` and `BENCH_MARIADB_URL`. */
export const serverUrls: Readonly<Partial<Record<Engine, string>>> = {
  ...(process.env['BENCH_POSTGRES_URL'] && { postgres: process.env['BENCH_POSTGRES_URL'] }),
  ...(process.env['BENCH_MARIADB_URL'] && { mariadb: process.env['BENCH_MARIADB_URL'] }),
}

const chosenEngines = process.env['BENCH_ENGINES']?.split(',')

/** SQLite, and the engines of {@link serverUrls}. `BENCH_ENGINES=postgres,mariadb` measures only some of them. */
export const measuredEngines = engines.filter(
  (engine) => (engine === 'sqlite' || serverUrls[engine] !== undefined) && (chosenEngines?.includes(engine) ?? true),
)
