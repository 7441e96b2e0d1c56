import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { compileText } from '../connection/compile'
import type { Statement } from '../connection/statement-cache'
import { rootAlias } from '../query/query'
import type { Store } from './store'

/**
 * A condition that TypeORM adds to WHERE: that the record is not soft-deleted, or that it has the type of the entity. TypeORM writes the
 * name of the discriminator without quotes.
 */
const addedCondition = new RegExp(
  String.raw`\( ("?${rootAlias}"?\.(?:"(?:[^"]|"")+"|\w+) (?:IS NULL|IN \(:\.\.\.\w+\))) \)`,
  'g',
)

/**
 * Compiles a SELECT that finds its rows by keys with an index: the database uses this index, and not one of the date of deletion or of
 * the discriminator.
 * @param valueCount number of bound values
 * @param tail SQL after that of the builder
 */
export function compileKeyed(
  { dataSource, dialect }: Store,
  builder: SelectQueryBuilder<ObjectLiteral>,
  valueCount: number,
  tail = '',
): Statement {
  const sql = builder
    .getQuery()
    .replaceAll(addedCondition, (_, condition: string) => `( ${dialect.likelySql(condition)} )`)
  return compileText(dataSource, sql, builder.getParameters(), valueCount, tail)
}
