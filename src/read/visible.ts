import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { collectValues, namedParameters } from '../connection/compile'
import type { Query } from '../query/query'
import { bindConditionValues, conditionSql } from './condition-sql'
import type { Store } from './store'

/**
 * Starts a query of the application for the records of an entity that a principal may see.
 * @param store with the row scopes of the principal
 * @param alias alias of the entity
 */
export function selectVisible<Entity extends ObjectLiteral>(store: Store, alias: string): SelectQueryBuilder<Entity> {
  const { view, dataSource, dialect } = store
  const builder = dataSource.createQueryBuilder<Entity>(view.metadata.target, alias)
  if (view.rowScope === undefined) return builder
  const where = { type: 'rowScope', alias, view, isFollowed: false } as const
  const query: Query = { view, joins: [], where, values: [], select: 'columns', ordering: [], cursor: undefined }
  const { values, bind } = collectValues()
  bindConditionValues(store, query, bind)
  const { sql, parameters } = conditionSql(store, query, alias)
  // Not `where()` or `andWhere()`: the application's own calls of `where()` and `orWhere()` would remove or widen it.
  builder.expressionMap.extraAppendedAndWhereCondition = sql
  return builder.setParameters({ ...parameters, ...namedParameters(values.map(dialect.toDriverParameter)) })
}
