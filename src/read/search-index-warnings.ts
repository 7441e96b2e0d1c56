import { type DbSession, withQueryRunner } from '../connection/db-session'
import { dialectOf } from '../dialect/dialect-of'
import { withStartComment } from '../dialect/statement-comment'
import type { ResourceView } from '../schema/resource-view'

/**
 * Logs a warning, through the data source's logger, for each text search index that searches cannot use: the option
 * `search` names an index that does not exist, or another one than the database has.
 */
export async function warnAboutSearchIndexes(session: DbSession, resources: Iterable<ResourceView>): Promise<void> {
  const { dataSource } = session
  const { textSearch } = dialectOf(dataSource)
  for (const { metadata, searchIndex } of resources) {
    const index = searchIndex()
    if (index === undefined) continue
    const problem = await withQueryRunner(session, (runner) =>
      textSearch.problemOf(index, metadata, (sql) => runner.query(withStartComment(sql))),
    )
    if (problem === undefined) continue
    const create = textSearch.createSql(dataSource, index, metadata)
    dataSource.logger.log(
      'warn',
      `typeorm-resources: ${metadata.name}: "search" names the index "${index.name}", which ${problem}; create it in a migration: ${create}`,
    )
  }
}
