import { dialectOf } from '../dialect/dialect-of'
import { withStartComment } from '../dialect/statement-comment'
import { type DbSession, withQueryRunner } from './db-session'

/** Logs warnings, through the data source's logger, about settings that can lose writes, block requests or change formats. */
export async function warnAboutSettings(session: DbSession): Promise<void> {
  const { options, logger } = session.dataSource
  const synchronizes = options.synchronize === true && process.env['NODE_ENV'] === 'production'
  const warnings = [
    ...(synchronizes
      ? ['synchronize is on in production: it changes tables, and can drop columns together with their data']
      : []),
    ...(await dialectOf(session.dataSource).settingsWarnings(session.dataSource, (sql) =>
      withQueryRunner(session, (runner) => runner.query(withStartComment(sql))),
    )),
  ]
  for (const warning of warnings) logger.log('warn', `typeorm-resources: ${warning}`)
}
