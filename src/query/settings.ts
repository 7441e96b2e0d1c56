import { type Session, withRunner } from './connection'

/** Warns once, through the data source's logger, of settings by which writes can be lost or requests hang. */
export async function warnOfSettings(session: Session): Promise<void> {
  const { dataSource } = session
  const { options } = dataSource
  const ask = (sql: string): Promise<readonly Record<string, unknown>[]> =>
    withRunner(session, (runner) => runner.query(sql))
  const warnings: string[] = []
  if (options.synchronize === true && process.env['NODE_ENV'] === 'production') {
    warnings.push('synchronize is on in production: it changes tables, and can drop columns with all that is in them')
  }
  if (options.type === 'postgres') {
    const { query_timeout } = Object(options.extra) as { readonly query_timeout?: unknown }
    if (query_timeout) {
      warnings.push('query_timeout gives up writes that PostgreSQL may still commit: set statement_timeout instead')
    }
    const [setting] = await ask('SHOW statement_timeout')
    if (setting?.['statement_timeout'] === '0') {
      warnings.push('no statement_timeout is set: a statement may hold its connection for ever')
    }
  }
  if (options.type === 'better-sqlite3' || String(options.type) === 'sqlite') {
    const [setting] = await ask('PRAGMA foreign_keys')
    if (setting?.['foreign_keys'] === 0) warnings.push('foreign_keys is off: SQLite checks no foreign key')
  }
  for (const warning of warnings) dataSource.logger.log('warn', `typeorm-resources: ${warning}`)
}
