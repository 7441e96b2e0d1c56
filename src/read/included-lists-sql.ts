import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { selectFrom } from '../connection/compile'
import type { Dialect } from '../dialect/dialect'
import { type Condition, type FieldRef, type IncludedList, rootAlias, tableAlias } from '../query/query'
import { areRelatedIndexed, isJoinColumn, isOrderIndexed } from './foreign-key-index'
import {
  addParentKey,
  type IncludedQuery,
  keyAlias,
  parentKeySql,
  type RelatedCondition,
  relatedQuery,
} from './included-sql'
import { viewTimeLimit } from './join-sql'
import type { ValueLimit } from './measure'
import { keyName, renameDiscriminator } from './related-sql'
import { columnSql } from './row'
import {
  addColumns,
  addJoins,
  addOrderedJoins,
  addOrdering,
  type ConditionSql,
  includedJoinsOf,
  orderingSql,
  type SortedBy,
  withoutIncluded,
} from './select-query'
import type { Store } from './store'

type Builder = SelectQueryBuilder<ObjectLiteral>

/** Alias of the table of the parents in the subquery of their keys. */
const parentsAlias = tableAlias('parents')
/** Alias of the subquery of the parents' keys, to which a LATERAL subquery for each list is joined. */
const parentKeysAlias = tableAlias('parent_keys')
/** Alias of the subquery of one list. */
const listAlias = tableAlias('list')
/** Alias of the subquery of all records of one list, from which a LATERAL subquery selects the first ones. */
const recordsAlias = tableAlias('records')
/** Alias of the subquery of all lists: the keys of the parents and, if they are numbered, of the related records. */
const listsAlias = tableAlias('lists')
/** Name of the position of a related record in its list, from 1. */
const positionName = tableAlias('position')

/** Name of a sort value of a related record. */
const sortName = (index: number): string => tableAlias(`sort${index}`)
/** Name of a column of the parent's key. */
const parentKeyName = (index: number): string => tableAlias(`parent_key${index}`)

/** SQL of the statement that reads the lists of several parents. */
export interface ListsSql extends RelatedCondition {
  readonly form: ListsForm
  /** Placeholder for the number of rows of one list; with the form `together`, of all lists. */
  readonly maxLength: string
}

/**
 * How a statement reads the lists: see `Dialect.listsPerParent`. With `together`, it reads all related records of all parents, at
 * most as many as its limit.
 */
export type ListsForm = Dialect['listsPerParent'] | 'together'

/**
 * The form of the statement for lists of several parents. Forms with a subquery for each parent need an index on the foreign
 * key: without one, each subquery would read the whole table. PostgreSQL does this also for a list with LIMIT whose filters
 * follow relations, because it expects to find a matching record soon: 1,000 lists of 100 records took eight seconds. For a search with an
 * index, it would compare all records that the index finds again for each parent.
 */
export function listsFormOf(store: Store, list: IncludedList): ListsForm {
  const { dialect } = store
  if (dialect.listsPerParent === 'lateral' && followsRelationOrSearchesIndex(list.query.where)) return 'window'
  return areRelatedIndexed(list.relation, store.dataSource) ? dialect.listsPerParent : 'window'
}

/**
 * Whether a filter of the request follows a relation, or searches with an index. Row scopes do not count: most records of a list are
 * usually visible.
 */
function followsRelationOrSearchesIndex(condition: Condition): boolean {
  switch (condition.type) {
    case 'and':
    case 'or':
      return condition.conditions.some(followsRelationOrSearchesIndex)
    case 'not':
      return followsRelationOrSearchesIndex(condition.condition)
    case 'compare':
      return condition.on.alias !== rootAlias
    default:
      return condition.type === 'exists' || condition.type === 'match'
  }
}

/** The field by which the statement selects the parents. */
export function parentFieldOf(form: ListsForm, { list, parent }: IncludedQuery): FieldRef {
  if (form === 'in' || form === 'lateral') return { alias: parentsAlias, field: parent.view.key }
  return { alias: keyAlias(list), field: list.foreignKey ?? parent.view.key }
}

/** Builds the SELECT of the lists of several parents, each in its order, without LIMIT. */
export function listsQuery(store: Store, included: IncludedQuery, sql: ListsSql, valueLimit: ValueLimit): Builder {
  const builder = listsBuilders[sql.form](store, included, sql)
  addColumns(store, builder, included.query, valueLimit)
  const parentKey = included.parentKey.map((_, index) => escapeName(store, listsAlias, parentKeyName(index)))
  addParentKey(store, builder, included, parentKey)
  return builder
}

/**
 * Builds the SELECT of lists whose keys are numbered by a subquery. The outer query reads the rows: the database then sorts
 * only keys, not whole rows.
 */
function numberedLists(store: Store, included: IncludedQuery, sql: ListsSql): Builder {
  const isWindow = sql.form === 'window'
  const [source, parameters] = isWindow ? windowSource(store, included, sql) : lateralSource(store, included, sql)
  const builder = selectFromLists(store, source, keysAreEqual(store), parameters)
  const position = escapeName(store, listsAlias, positionName)
  if (isWindow) builder.where(`${position} <= ${sql.maxLength}`)
  addJoins(store, builder, includedJoinsOf(included.query), sql.condition)
  return builder.orderBy(position)
}

/** Numbers the related records of all parents. */
function windowSource(store: Store, included: IncludedQuery, sql: ListsSql): Source {
  const query = allKeysQuery(store, included, sql)
  const parentKeys = parentKeySql(store, included).join(', ')
  const order = orderSql(orderingSql(store, included.query))
  query.addSelect(`ROW_NUMBER() OVER (PARTITION BY ${parentKeys} ORDER BY ${order})`, positionName)
  return [query.getQuery(), query.getParameters()]
}

/**
 * Builds the SELECT of all related records. A subquery with LIMIT reads their keys, so that the database does not sort more
 * rows.
 */
function allLists(store: Store, included: IncludedQuery, sql: ListsSql): Builder {
  const keys = allKeysQuery(store, included, sql)
  const source = `${keys.getQuery()} LIMIT ${sql.maxLength}`
  const builder = selectFromLists(store, source, keysAreEqual(store), keys.getParameters())
  addOrderedJoins(store, builder, included.query, sql.condition)
  return builder
}

/** Builds the SELECT of the keys of the related records of all parents, with those of the parents, in any order. */
function allKeysQuery(store: Store, included: IncludedQuery, { condition, hasParent }: ListsSql): Builder {
  const query = keysQuery(store, included, condition).andWhere(hasParent)
  for (const [index, key] of parentKeySql(store, included).entries()) query.addSelect(key, parentKeyName(index))
  return query
}

/** Condition that a related record has the key that a subquery has selected. */
function keysAreEqual(store: Store): string {
  return keysOf(store)
    .map((key, index) => `${escapeName(store, listsAlias, keyName(index))} = ${key}`)
    .join(' AND ')
}

/** Numbers the first related records of each parent, in a subquery for each. */
function lateralSource(store: Store, included: IncludedQuery, sql: ListsSql): Source {
  const [first, parameters] = (hasOrderedIndex(store, included) ? numberedList : sortedList)(store, included, sql)
  const parents = selectParentKeys(store, included, sql, parameters)
  const { driver } = store.dataSource
  return [
    `SELECT * FROM (${parents}) ${driver.escape(parentKeysAlias)} CROSS JOIN LATERAL (${first}) ${driver.escape(listAlias)}`,
    parameters,
  ]
}

/** Whether an index has the records of a parent in the order of the list. */
function hasOrderedIndex({ dataSource }: Store, { list: { relation }, query }: IncludedQuery): boolean {
  const { isManyToMany, inverseRelation } = relation
  if (isManyToMany || inverseRelation === undefined) return false
  if (query.ordering.some(({ alias }) => alias !== rootAlias)) return false
  const sorted = query.ordering.map(({ column }) => column.column)
  return isOrderIndexed(
    inverseRelation,
    sorted.filter((column) => !isJoinColumn(inverseRelation, column)),
    dataSource,
  )
}

/** Numbers the first records of one list, which an index has in its order. */
function numberedList(store: Store, included: IncludedQuery, sql: ListsSql): Source {
  const list = listKeysQuery(store, included, sql, parentKeysAlias)
  list.addSelect(positionSql(orderingSql(store, included.query)), positionName)
  return [`${list.getQuery()} LIMIT ${sql.maxLength}`, list.getParameters()]
}

/**
 * Numbers the first records of one list, after it has read them all: `OFFSET 0` ends the optimization. Otherwise, PostgreSQL may read the
 * table in the order of the list, because it expects to find a record of the parent soon. If there is none, it reads the whole table.
 */
function sortedList(store: Store, included: IncludedQuery, sql: ListsSql): Source {
  const { driver } = store.dataSource
  const all = ofParent(store, keysQuery(store, included, sql.condition), included, parentKeysAlias)
  const sorted = orderingSql(store, included.query).map((member, index) => {
    all.addSelect(member.sql, sortName(index))
    return { ...member, sql: driver.escape(sortName(index)) }
  })
  const keys = keysOf(store).map((_, index) => driver.escape(keyName(index)))
  const selected = [...keys, `${positionSql(sorted)} AS ${driver.escape(positionName)}`]
  const records = driver.escape(recordsAlias)
  // Numbered after LIMIT, because PostgreSQL would sort all records to number them.
  const first = `SELECT * FROM (${all.getQuery()} OFFSET 0) ${records} ORDER BY ${orderSql(sorted)} LIMIT ${sql.maxLength}`
  return [`SELECT ${selected.join(', ')} FROM (${first}) ${records}`, all.getParameters()]
}

/** Builds the SELECT of lists whose keys are selected by a subquery for each parent. */
function selectedLists(store: Store, included: IncludedQuery, sql: ListsSql): Builder {
  const list = listKeysQuery(store, included, sql, listsAlias)
  const parameters = list.getParameters()
  const parents = selectParentKeys(store, included, sql, parameters)
  const isInList = `(${keysOf(store).join(', ')}) IN (${list.getQuery()} LIMIT ${sql.maxLength})`
  const builder = selectFromLists(store, parents, isInList, parameters)
  addOrderedJoins(store, builder, included.query, sql.condition)
  return builder
}

const listsBuilders: Readonly<Record<ListsForm, typeof numberedLists>> = {
  in: selectedLists,
  lateral: numberedLists,
  window: numberedLists,
  together: allLists,
}

/** SQL of a subquery, with its constant parameters. */
type Source = readonly [sql: string, parameters: ObjectLiteral]

/**
 * Joins the table of the related records to the subquery of the lists. An outer join makes the database start from the
 * subquery: for an inner join, SQLite may scan all related records. A parent without related records then has a row of
 * nulls.
 */
function selectFromLists({ dataSource, view }: Store, source: string, on: string, parameters: ObjectLiteral): Builder {
  const builder = dataSource.createQueryBuilder().select([]).from<ObjectLiteral>(`(${source})`, listsAlias)
  const condition = [viewTimeLimit(dataSource, view.metadata, rootAlias), on].filter(Boolean).join(' AND ')
  return builder.leftJoin(view.metadata.target, rootAlias, condition, parameters)
}

/** Builds the SELECT of the keys of one list, in its order. @param parents alias of the subquery of the parents' keys */
function listKeysQuery(store: Store, included: IncludedQuery, { condition }: ListsSql, parents: string): Builder {
  const list = keysQuery(store, included, condition)
  addOrdering(store, list, included.query)
  return ofParent(store, list, included, parents)
}

/** Adds the condition on the key of one parent. @param parents alias of the subquery of the parents' keys */
function ofParent(store: Store, list: Builder, included: IncludedQuery, parents: string): Builder {
  for (const [index, key] of parentKeySql(store, included).entries()) {
    list.andWhere(`${key} = ${escapeName(store, parents, parentKeyName(index))}`)
  }
  return list
}

/** SQL of the SELECT of the parents' keys. @param parameters receives its constant parameters */
function selectParentKeys(
  { dataSource }: Store,
  included: IncludedQuery,
  sql: ListsSql,
  parameters: ObjectLiteral,
): string {
  const { list, parent } = included
  // The parents have been read, and may be soft-deleted records.
  const parents = selectFrom(dataSource, list.relation.entityMetadata.target, parentsAlias)
    .where(sql.hasParent)
    .withDeleted()
  for (const [index, column] of parent.view.key.columns.entries()) {
    parents.addSelect(columnSql(dataSource, column, parentsAlias), parentKeyName(index))
  }
  return renameDiscriminator(parents.getQuery(), parents, parameters)
}

/** Builds the SELECT of the keys of related records, without those of their parents. */
function keysQuery(store: Store, included: IncludedQuery, condition: ConditionSql): Builder {
  const keys = relatedQuery(store, { ...included, query: withoutIncluded(included.query) }, condition)
  for (const [index, key] of keysOf(store).entries()) keys.addSelect(key, keyName(index))
  return keys
}

/** Key columns of the related records. */
function keysOf({ view, dataSource }: Store): readonly string[] {
  return view.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
}

function positionSql(members: readonly SortedBy[]): string {
  return `ROW_NUMBER() OVER (ORDER BY ${orderSql(members)})`
}

function orderSql(members: readonly SortedBy[]): string {
  return members.map(({ sql, direction, placement = '' }) => `${sql} ${direction} ${placement}`).join(', ')
}

function escapeName({ dataSource: { driver } }: Store, alias: string, name: string): string {
  return `${driver.escape(alias)}.${driver.escape(name)}`
}
