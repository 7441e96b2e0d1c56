import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import type { Statement } from '../connection/statement-cache'
import type { Query } from '../query/query'
import { bindComparisonValues, comparisonSql } from './comparison-sql'
import { bindConditionValues, conditionSql } from './condition-sql'
import { type ListsForm, listsFormOf, listsQuery, parentFieldOf } from './included-lists-sql'
import { type IncludedQuery, includedCountQuery, keyAlias, singleListQuery } from './included-sql'
import type { ValueLimit } from './measure'
import { withoutIncluded } from './select-query'
import type { Store } from './store'

/** Maximum number of bind parameters for keys in one statement. SQLite accepts 32,766 in all. */
export const maxKeyValues = 4096

/** The records whose lists are read: the values of their keys by texts that identify them. */
export type ParentKeys = ReadonlyMap<string, unknown>

/** Statement with its bound values. */
export interface BoundStatement {
  readonly statement: Statement
  readonly values: readonly unknown[]
}

/** What a statement reads: lists of related records. */
export interface ListsSelection {
  /** Store of the related records. */
  readonly store: Store
  readonly included: IncludedQuery
  /** The parents whose lists are read. */
  readonly keys: ParentKeys
  readonly valueLimit: ValueLimit
}

/** The statement for the list of a single parent. */
export function singleListStatement(
  session: DbSession,
  { store, included, keys, valueLimit }: ListsSelection,
): BoundStatement {
  const { list } = included
  const query = withParentKeys(included, keys)
  const { values, bind } = collectValues()
  const key = `include ${keyOf(store, included)} ${valueLimit} ${bindConditionValues(store, query, bind)}`
  const limitClause = ` LIMIT ${bind(list.query.limit)}`
  const statement = cachedStatement(session, key, () => {
    const builder = singleListQuery(store, { ...included, query }, conditionSql(store, query), valueLimit)
    return compile(store.dataSource, builder, values.length, limitClause)
  })
  return { statement, values }
}

/** The statement for the lists of several parents: of each as many related records as `list.query.limit`. */
export function listsStatement(session: DbSession, selection: ListsSelection, maxRows: number): BoundStatement {
  const { included, keys } = selection
  const { limit: length } = included.list.query
  // Only if needed: with LIMIT, SQLite sorts in a temporary table, which takes longer.
  const limit = keys.size * length > maxRows ? maxRows : undefined
  return severalListsStatement(session, selection, { form: undefined, length, limit })
}

/** The statement for all related records of several parents, at most as many as `maxRows`. */
export function allListsStatement(session: DbSession, selection: ListsSelection, maxRows: number): BoundStatement {
  return severalListsStatement(session, selection, { form: 'together', length: maxRows, limit: undefined })
}

/** How the lists of several parents are read. */
interface ListsRequest {
  /** Undefined for the form that the database and its indexes determine. */
  readonly form: ListsForm | undefined
  /** Number of rows of one list; with the form `together`, of all lists. */
  readonly length: number
  /** Number of rows of the statement. */
  readonly limit: number | undefined
}

function severalListsStatement(
  session: DbSession,
  { store, included, keys, valueLimit }: ListsSelection,
  { form: requestedForm, length, limit }: ListsRequest,
): BoundStatement {
  const { dataSource } = store
  const { list, query } = included
  const hasParent = (form: ListsForm) =>
    ({ type: 'compare', on: parentFieldOf(form, included), operator: 'in', valuesIndex: 0 }) as const
  const parentKeys = [...keys.values()]
  const { values, bind } = collectValues()
  const condition = bindConditionValues(store, query, bind)
  const conditionCount = values.length
  // The bound values are the same with every form. The form itself is only found when the statement is compiled.
  const anyForm = requestedForm ?? store.dialect.listsPerParent
  const parents = bindComparisonValues(hasParent(anyForm), parentKeys, dataSource, bind)
  const maxLength = bind(length)
  const limitClause = limit === undefined ? '' : ` LIMIT ${bind(limit)}`
  const key = `includes ${keyOf(store, included)} ${requestedForm} ${valueLimit} ${limitClause} ${condition} ${parents}`
  const statement = cachedStatement(session, key, () => {
    const form = requestedForm ?? listsFormOf(store, list)
    const sql = {
      form,
      condition: conditionSql(store, query, { otherValues: values.length - conditionCount }),
      hasParent: comparisonSql(hasParent(form), parentKeys, dataSource, collectValues(conditionCount).bind),
      maxLength,
    }
    return compile(dataSource, listsQuery(store, included, sql, valueLimit), values.length, limitClause)
  })
  return { statement, values }
}

/** The statement that counts the related records of several parents. */
export function countStatement(
  session: DbSession,
  { store, included, keys }: Omit<ListsSelection, 'valueLimit'>,
): BoundStatement {
  const query = withoutIncluded({ ...withParentKeys(included, keys), ordering: [] })
  const { values, bind } = collectValues()
  const key = `include count ${keyOf(store, included)} ${bindConditionValues(store, query, bind)}`
  const statement = cachedStatement(session, key, () => {
    const builder = includedCountQuery(store, { ...included, query }, conditionSql(store, query))
    return compile(store.dataSource, builder, values.length)
  })
  return { statement, values }
}

/** The part of the cache key of a list's statements that depends on the relation and the names of the request. */
function keyOf({ view }: Store, { list, parent }: IncludedQuery): string {
  return `${parent.view.name}.${list.relation.propertyPath} ${view.cacheKey} ${list.query.cacheKey}`
}

/** Adds the condition that the parent has one of some keys. */
function withParentKeys({ list, parent }: IncludedQuery, keys: ParentKeys): Query {
  const { where, values } = list.query
  const hasParent = {
    type: 'compare',
    on: { alias: keyAlias(list), field: list.foreignKey ?? parent.view.key },
    operator: 'in',
    valuesIndex: values.length,
  } as const
  return {
    ...list.query,
    where: { type: 'and', conditions: [hasParent, where] },
    values: [...values, [...keys.values()]],
  }
}
