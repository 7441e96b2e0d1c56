import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import type { Statement } from '../connection/statement-cache'
import type { FieldRef } from '../query/query'
import { bindComparisonValues, comparisonSql } from './comparison-sql'
import { compileKeyed } from './compile-keyed'
import { bindConditionValues, conditionSql } from './condition-sql'
import { areRelatedIndexed } from './foreign-key-index'
import { type ListsForm, listsFormOf, listsQuery, parentFieldOf } from './included-lists-sql'
import {
  type IncludedQuery,
  includedCountQuery,
  keyAlias,
  type RelatedCondition,
  singleListQuery,
} from './included-sql'
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
  const { values, bind, key, conditionOf, compileRelated } = bindRelated(store, included, keys)
  const limitClause = ` LIMIT ${bind(included.list.query.limit)}`
  const statement = cachedStatement(session, `include ${key} ${valueLimit}`, () => {
    const builder = singleListQuery(store, included, conditionOf(), valueLimit)
    return compileRelated(builder, limitClause)
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
  // The bound values are the same with every form. The form itself is only found when the statement is compiled.
  const { values, bind, key, conditionOf, compileRelated } = bindRelated(store, included, keys)
  const maxLength = bind(length)
  const limitClause = limit === undefined ? '' : ` LIMIT ${bind(limit)}`
  const statement = cachedStatement(session, `includes ${key} ${requestedForm} ${valueLimit} ${limitClause}`, () => {
    const form = requestedForm ?? listsFormOf(store, included.list)
    const sql = { form, ...conditionOf(parentFieldOf(form, included)), maxLength }
    return compileRelated(listsQuery(store, included, sql, valueLimit), limitClause)
  })
  return { statement, values }
}

/** The statement that counts the related records of several parents. */
export function countStatement(
  session: DbSession,
  { store, included, keys }: Omit<ListsSelection, 'valueLimit'>,
): BoundStatement {
  const counted = { ...included, query: withoutIncluded({ ...included.query, ordering: [] }) }
  const { values, key, conditionOf, compileRelated } = bindRelated(store, counted, keys)
  const statement = cachedStatement(session, `include count ${key}`, () =>
    compileRelated(includedCountQuery(store, counted, conditionOf())),
  )
  return { statement, values }
}

/**
 * Binds the values of the condition on related records, then the keys of their parents.
 * @returns the part of the cache key that depends on the relation, the names of the request and the number of values, and
 * functions that build the SQL of the condition and compile the statement
 */
function bindRelated(store: Store, { list, parent, query }: IncludedQuery, keys: ParentKeys) {
  const { dataSource, view } = store
  const parentKeys = [...keys.values()]
  const hasParent = (on: FieldRef) => ({ type: 'compare', on, operator: 'in', valuesIndex: 0 }) as const
  const ownField = { alias: keyAlias(list), field: list.foreignKey ?? parent.view.key }
  const { values, bind } = collectValues()
  const condition = bindConditionValues(store, query, bind)
  const conditionCount = values.length
  const parents = bindComparisonValues(hasParent(ownField), parentKeys, dataSource, bind)
  const key = `${parent.view.name}.${list.relation.propertyPath} ${view.cacheKey} ${list.query.cacheKey} ${condition} ${parents}`
  const isIndexed = areRelatedIndexed(list.relation, dataSource)
  /** @param parentField field that has the key of the parents */
  const conditionOf = (parentField: FieldRef = ownField): RelatedCondition => ({
    condition: conditionSql(store, query, {
      otherValues: values.length - conditionCount,
      // A filter may be more selective than a single parent.
      ...(isIndexed && { selectedBy: 'keys', mostMatch: keys.size > 1 }),
    }),
    hasParent: comparisonSql(hasParent(parentField), parentKeys, dataSource, collectValues(conditionCount).bind),
  })
  const compileRelated = (builder: SelectQueryBuilder<ObjectLiteral>, tail = ''): Statement =>
    isIndexed ? compileKeyed(store, builder, values.length, tail) : compile(dataSource, builder, values.length, tail)
  return { values, bind, key, conditionOf, compileRelated }
}
