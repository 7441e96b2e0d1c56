import type { Cursor } from '../request/cursor'
import type { DeletedRecords } from '../request/list-request'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { FilterNames, ResourceView, SearchIndex, WriteAction, WriteState } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import type { OperatorName } from '../value/value-type'

/** Field of the resource of a query, or of a joined resource. */
export interface FieldRef {
  /** Alias of the field's table: `rootAlias`, or the alias of a join. */
  readonly alias: string
  readonly field: Field
}

/** Outer join along one relation. */
export interface Join {
  readonly alias: string
  /** Alias of the table that has the relation. */
  readonly from: string
  readonly relation: RelationMetadata
  /**
   * Condition that the principal may see a joined record: others are treated like missing ones. Undefined if the joined
   * resource is not guarded (`FilterNames.isGuarded`).
   */
  readonly visible: VisibilityCondition | undefined
}

/** Condition that compares a field with values. */
export interface Comparison {
  readonly type: 'compare'
  readonly on: FieldRef
  readonly operator: OperatorName
  /** Index of the values in `Query.values`. */
  readonly valuesIndex: number
  /**
   * For `eq` with one value: compares with the digits of the value that the column stores, which may be fewer than those of the
   * value.
   */
  readonly asStored?: true
  /** Name of a filter to suggest if the value is not a key of the related resource: `country__name` for `country`. */
  readonly suggestion?: string | undefined
}

/** Condition that a text search index finds the words of a search in a record. */
export interface Match {
  readonly type: 'match'
  /** Alias of the table of the index. */
  readonly alias: string
  readonly index: SearchIndex
  /** Index of the words in `Query.values`. */
  readonly valuesIndex: number
}

/**
 * Condition on a record, without the values to compare with. An `and` without conditions holds for every record, an `or`
 * without conditions for none.
 */
export type Condition =
  | Comparison
  | Match
  | Combination
  | Negation
  | Exists
  | VisibilityCondition
  | PermissionCondition
  | DeletionCondition

/**
 * Condition that the principal of the request may see the record of a table: it is in the row scope and, if `isFollowed`,
 * the access rule of its resource permits reading it (specification: Row scopes, Access through relations).
 * `Policies.resolve` returns the condition for the principal.
 */
export interface VisibilityCondition {
  readonly type: 'visible'
  readonly alias: string
  readonly view: FilterNames
  /** Whether the request follows a relation to the table. */
  readonly isFollowed: boolean
}

/** A write, and whether its record is checked before or after it. */
export interface WriteMoment {
  readonly action: WriteAction
  readonly state: WriteState
}

/**
 * Condition that `may` permits the principal to write the record of the table `rootAlias` (specification: Permissions).
 * `Policies.resolve` returns the condition for the principal.
 */
export interface PermissionCondition extends WriteMoment {
  readonly type: 'permission'
  readonly view: ResourceView
}

/** Condition that the record of the table `rootAlias` is soft-deleted, or is not. */
export interface DeletionCondition {
  readonly type: 'deletion'
  readonly view: ResourceView
  readonly isDeleted: boolean
}

/** Conjunction or disjunction of conditions. */
export interface Combination {
  readonly type: 'and' | 'or'
  readonly conditions: readonly Condition[]
}

/** Negation in two-valued logic: true if the condition is false or unknown (null). */
export interface Negation {
  readonly type: 'not'
  readonly condition: Condition
}

/**
 * Condition that a relation has at least one record that matches `where`. If `where` is only `is=null`, a record without
 * related records matches too.
 */
export interface Exists extends JoinedCondition {
  readonly type: 'exists'
  /** Join along the relation. Its `from` is an alias of the outer statement. */
  readonly first: Join
}

/** Joins of a statement or of a subquery, and the condition on its rows. */
export interface JoinedCondition {
  /** Outer joins along to-one relations. */
  readonly joins: readonly Join[]
  readonly where: Condition
}

/** Operand of the operator `is`. */
export type IsValue = 'null' | 'not_null' | boolean

/** Sort column of the resource, or of a record that to-one relations lead to. */
export interface SortColumn {
  /** Identifies the column in cursors: property paths of the relations and of the column, as in `assignee/name`. */
  readonly name: string
  /** Alias of the column's table: `rootAlias`, or the alias of a join. */
  readonly alias: string
  readonly column: StoredColumn
  readonly descending: boolean
  /** Position of nulls, including those of missing related records. */
  readonly nulls: 'first' | 'last'
  /**
   * Whether records show the stored value: there is no transformer and no `@AfterLoad` listener. Cursors reveal stored
   * values, so a list has no cursors if this is false for one of its sort columns.
   */
  readonly isShown: boolean
}

/** Joined table of a related record whose columns are read. */
export interface IncludedTable {
  readonly alias: string
  /** The view of the related record, with the selected fields only. */
  readonly view: ResourceView
}

/** The related records that the records of a query include. */
export interface Inclusion {
  readonly records: readonly IncludedRecord[]
  readonly lists: readonly IncludedList[]
  /** Names of the resources whose records are included, at all depths. */
  readonly resources: readonly string[]
}

/** A related record, which the statement of the query joins. */
export interface IncludedRecord extends IncludedTable {
  /** Path in the record: `['assignee']`. */
  readonly path: readonly string[]
  readonly inclusion: Inclusion
}

/** A list of related records of each record, which a statement of its own reads. */
export interface IncludedList {
  readonly path: readonly string[]
  readonly relation: RelationMetadata
  /** The view of the related records, with the selected fields only. */
  readonly view: ResourceView
  /**
   * Integer that is equal to the key of the parent: in the related records, or in the junction table of a many-to-many
   * relation. Undefined if the statement has to join the table of the parents. Texts may differ from the key that they refer
   * to, such as in case.
   */
  readonly foreignKey: Field | undefined
  /** Query for the lists of all records. Its `limit` is that of one list, plus one record that the list does not show. */
  readonly query: ListQuery
  /** Maximum number of records of one list. */
  readonly limit: number
  /** Whether the related records are counted. */
  readonly isCounted: boolean
  /** The parameters of the include, as a query string. */
  readonly repeated: string
}

/** Everything that one SELECT needs. Text of the request occurs only in `values` and `cursor`, which are bound. */
export interface Query extends JoinedCondition {
  readonly view: ResourceView
  /**
   * Values to compare with, by `Comparison.valuesIndex`: of the field's value type, or {@link IsValue} for `is`; by
   * `Match.valuesIndex`: the words. The
   * comparison must hold for any of them, or for all of them, depending on the operator
   * (specification: Repeated parameters).
   */
  readonly values: readonly (readonly unknown[])[]
  /** Columns of the resource that are read: `ResourceView.columns`, `ResourceView.entityColumns` or those of the key. */
  readonly select: 'columns' | 'entityColumns' | 'key'
  readonly ordering: readonly SortColumn[]
  /** Related records that are read too. Their tables are in `joins`. */
  readonly included: readonly IncludedTable[]
  /** Whether soft-deleted records are read, if they match `where`. Default: false. */
  readonly readsDeleted?: boolean
  /**
   * Position before the first row in keyset paging; the statement then also reads the exact values of the sort columns.
   * Undefined for paging by page number.
   */
  readonly cursor: KeysetCursor | undefined
}

/** Cursor and the ordering to which its position belongs. */
export interface KeysetCursor extends Cursor {
  /** Identifies the resource and its ordering in tokens. */
  readonly orderingId: string
}

/** Query for a page of a list. */
export interface ListQuery extends Query {
  /**
   * Related resources whose access rules must permit reading them: those that filters and orderings lead to, also in
   * includes.
   */
  readonly guardedViews: readonly FilterNames[]
  /** The related records that the records include; undefined without `include`. */
  readonly inclusion: Inclusion | undefined
  /**
   * Key of cached SQL. Queries with the same key have the same joins, comparisons and sort columns; the sort direction
   * may be reversed.
   */
  readonly cacheKey: string
  readonly limit: number
  readonly offset: number
}

/** Validated values by field, for an INSERT or UPDATE. */
export type ChangeSet = ReadonlyMap<Field, unknown>

/**
 * Alias of a table in the statements of this library. The prefix avoids collisions with aliases in the SQL of virtual
 * columns: such an alias would shadow this one, and the column would be computed from the wrong row. The prefix is
 * constant, so that all processes send the same SQL.
 */
export function tableAlias(name: string | number): string {
  return `tr_${name}`
}

/** Alias of the table of the query's own resource. */
export const rootAlias = tableAlias(0)

/** Returns the query that reads only the records with these keys, of those that it reads. */
export function withKeys(query: ListQuery, keys: readonly unknown[]): ListQuery {
  const { view, where, values } = query
  const hasKey = {
    type: 'compare',
    on: { alias: rootAlias, field: view.key },
    operator: keys.length === 1 ? 'eq' : 'in',
    valuesIndex: values.length,
  } as const
  return { ...query, where: { type: 'and', conditions: [hasKey, where] }, values: [...values, keys] }
}

/** Adds the condition that the principal may see a record to the condition on the records of a view. */
export function whereVisible(view: FilterNames, where: Condition): Condition {
  if (view.rowScope === undefined) return where
  return { type: 'and', conditions: [where, { type: 'visible', alias: rootAlias, view, isFollowed: false }] }
}

/**
 * Adds the condition on soft-deleted records: those that the principal may restore, for `with` also all other records. The
 * query needs `readsDeleted`.
 */
export function whereDeleted(view: ResourceView, deleted: DeletedRecords, where: Condition): Condition {
  const restorable: Condition = {
    type: 'and',
    conditions: [
      { type: 'deletion', view, isDeleted: true },
      { type: 'permission', view, action: 'restore', state: 'before' },
    ],
  }
  const others: Condition = { type: 'deletion', view, isDeleted: false }
  return {
    type: 'and',
    conditions: [where, deleted === 'only' ? restorable : { type: 'or', conditions: [others, restorable] }],
  }
}

/**
 * Adds the condition that a request may follow a relation to a record to the condition on the records of a view
 * (specification: Access through relations).
 */
export function whereRelated(view: FilterNames, where: Condition): Condition {
  if (!view.isGuarded) return where
  return { type: 'and', conditions: [where, { type: 'visible', alias: rootAlias, view, isFollowed: true }] }
}

/** Adds the permission of a write to the condition on the records of a view. */
export function whereWritable(view: ResourceView, moment: WriteMoment, where: Condition): Condition {
  if (view.may[moment.action] === undefined) return where
  return { type: 'and', conditions: [where, { type: 'permission', view, ...moment }] }
}

/**
 * Whether a record alone decides whether it matches a condition: no records of other tables do, as for a virtual column.
 * @param condition without visibility and permission conditions
 */
export function isDecidedByRecord(condition: Condition): boolean {
  switch (condition.type) {
    case 'compare': {
      const { alias, field } = condition.on
      return alias === rootAlias && field.columns.every(({ column }) => !column.isVirtualProperty)
    }
    case 'not':
      return isDecidedByRecord(condition.condition)
    case 'and':
    case 'or':
      return condition.conditions.every(isDecidedByRecord)
    default:
      return false
  }
}
