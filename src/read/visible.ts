import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { collectValues, namedParameters, parameterPrefix } from '../connection/compile'
import type { Query } from '../query/query'
import { bindConditionValues, conditionSql } from './condition-sql'
import type { Store } from './store'

/** Number of queries that have been started. */
let queryCount = 0

/**
 * Starts a query of the application for the records of an entity that a principal may see.
 * @param store with the policies for the principal
 * @param alias alias of the entity
 * @param dataSource data source that runs the query
 */
export function selectVisible<Entity extends ObjectLiteral>(
  store: Store,
  alias: string,
  dataSource: DataSource,
): SelectQueryBuilder<Entity> {
  const { view, dialect } = store
  const builder = dataSource.createQueryBuilder<Entity>(view.metadata.target, alias)
  if (view.rowScope === undefined) return builder
  const where = { type: 'visible', alias, view, isFollowed: false } as const
  const query: Query = {
    view,
    joins: [],
    where,
    values: [],
    select: 'columns',
    ordering: [],
    included: [],
    cursor: undefined,
  }
  const { values, bind } = collectValues()
  bindConditionValues(store, query, bind)
  const condition = conditionSql(store, query, { root: alias })
  const parameters = { ...condition.parameters, ...namedParameters(values.map(dialect.toQueryParameter)) }
  // The application may combine several of these queries in one, so their parameters must have different names.
  const prefix = `${parameterPrefix}${++queryCount}_`
  const rename = (text: string): string => text.replaceAll(parameterPrefix, prefix)
  // Not `where()` or `andWhere()`: the application's own calls of `where()` and `orWhere()` would remove or widen it.
  builder.expressionMap.extraAppendedAndWhereCondition = rename(condition.sql)
  return builder.setParameters(
    Object.fromEntries(Object.entries(parameters).map(([name, value]) => [rename(name), value])),
  )
}
