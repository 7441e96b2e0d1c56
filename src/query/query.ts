import type { Cursor } from '../request/cursor'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'
import type { OperatorName } from '../value/value-type'

/** A field of the resource itself, or of one that is joined. */
export interface FieldRef {
  /** Whose field: `rootAlias`, or a join's. */
  readonly alias: string
  readonly field: Field
}

/** Follows one relation. */
export interface Join {
  readonly alias: string
  /** The alias that the relation starts at. */
  readonly from: string
  readonly relation: RelationMetadata
}

/** Compares a field with values. */
export interface Comparison {
  readonly type: 'compare'
  readonly on: FieldRef
  readonly operator: OperatorName
  /** Index of the values in `SelectPlan.values`. */
  readonly slot: number
  /** Name of a filter that may have been meant where the value is no key: `country__name` for `country`. */
  readonly suggestion?: string | undefined
}

/** What holds for a record, whatever the values are. An `and` without conditions holds for every record. */
export type Condition = Comparison | Combination | Negation | Some

export interface Combination {
  readonly type: 'and' | 'or'
  readonly conditions: readonly Condition[]
}

/** The exact complement: holds where the condition is false, and where it is unknown because of nulls. */
export interface Negation {
  readonly type: 'not'
  readonly condition: Condition
}

/** A to-many relation has a record for which the scope holds. */
export interface Some extends Scope {
  readonly type: 'some'
  /** Follows the relation, from an alias outside. */
  readonly first: Join
}

/** What a statement, or a subquery of it, joins, and what must hold for its rows. */
export interface Scope {
  /** To-one relations, by outer joins. */
  readonly joins: readonly Join[]
  readonly where: Condition
}

export type IsValue = 'null' | 'not_null' | boolean

/** A sort column: of the resource itself, or of a record that to-one relations lead to. */
export interface Order {
  /** What cursors know it by: the properties that lead to it, as `assignee/name`. */
  readonly name: string
  /** Whose column: `rootAlias`, or a join's. */
  readonly alias: string
  readonly column: StoredColumn
  readonly descending: boolean
  /** Where nulls stand, those of missing related records too. */
  readonly nulls: 'first' | 'last'
  /** Whether records show what is stored: not behind a transformer or an `@AfterLoad` listener. Cursors tell what is stored. */
  readonly isShown: boolean
}

/** Everything one SELECT needs. No text of a request is in it but values to bind. */
export interface Query {
  readonly resource: Resource
  readonly scope: Scope
  /** By slot, of the field's kind; for `is` see {@link IsValue}. Several mean any of them, or all (specification: Repeated parameters). */
  readonly values: readonly (readonly unknown[])[]
  /** What is read of each row: which columns of the resource. */
  readonly select: 'columns' | 'entityColumns'
  readonly ordering: readonly Order[]
  /** Where the rows begin in the order, whose exact places are read too; undefined where pages are counted. */
  readonly cursor: KeysetCursor | undefined
}

/** Where a page by keyset begins, and in which order: what its tokens are about. */
export interface KeysetCursor extends Cursor {
  readonly order: string
}

/** Some of the rows that are asked for. */
export interface ListQuery extends Query {
  /** Plans of which these are the same join, compare and, but for the direction, sort by the same. */
  readonly cacheKey: string
  readonly limit: number
  readonly offset: number
}

/** Values by field, checked; what an INSERT or UPDATE sets. */
export type ChangeSet = ReadonlyMap<Field, unknown>

/** Which record a PUT or DELETE is about, whose it was when it was read, and which of its states the client means. */
export interface WriteTarget {
  readonly key: unknown
  /** Undefined where records have no owner. */
  readonly owner: unknown
  /** Its tags, as the client lists them; undefined for any. */
  readonly ifMatch: string | undefined
  /** Bytes that the record may have; undefined for any. */
  readonly maxBytes?: number
}

export const rootAlias = 't0'
