import type { PageStart } from '../request/page-token'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'
import type { OperatorName } from '../value/kind'

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

/** What is compared, and how. */
export interface Comparison {
  readonly on: FieldRef
  readonly operator: OperatorName
  /** Where a plan has the values that it is compared with. */
  readonly slot: number
}

export type IsValue = 'null' | 'not_null' | boolean

/** A column of the resource itself. */
export interface Order {
  readonly column: StoredColumn
  readonly descending: boolean
}

/** What a statement, or a subquery of it, joins and compares. */
export interface Scope {
  readonly joins: readonly Join[]
  readonly comparisons: readonly Comparison[]
}

/** Asks about the records at the other end of a to-many relation: that all comparisons hold for one of them, or for none there is. */
export interface Exists extends Scope {
  /** Follows the relation, from an alias outside. */
  readonly first: Join
}

/** What a statement asks, whatever the values are. */
export interface Question extends Scope {
  readonly exists: readonly Exists[]
}

/** Everything one SELECT needs. No text of a request is in it but values to bind. */
export interface SelectPlan {
  readonly resource: Resource
  readonly question: Question
  /** By slot, of the field's kind; for `is` see {@link IsValue}. Several mean any of them, or all (D17). */
  readonly values: readonly (readonly unknown[])[]
  /** What is read of each row: which columns of the resource. */
  readonly columns: 'row' | 'entityRow'
  readonly ordering: readonly Order[]
  /** Where the rows begin in the order, whose exact places are read too; undefined where pages are counted. */
  readonly start: KeysetStart | undefined
}

/** Where a page by keyset begins, and in which order: what its tokens are about. */
export interface KeysetStart extends PageStart {
  readonly order: string
}

/** Some of the rows that are asked for. */
export interface ListPlan extends SelectPlan {
  /** Plans of which these are the same join, compare and, but for the direction, sort by the same. */
  readonly names: string
  readonly limit: number
  readonly offset: number
}

/** Values by field, checked; what an INSERT or UPDATE sets. */
export type ChangeSet = ReadonlyMap<Field, unknown>

/** Which record a PUT or DELETE is about, whose it was when it was read, and which of its states the client means. */
export interface Target {
  readonly key: unknown
  /** Undefined where records have no owner. */
  readonly owner: unknown
  /** Its tags, as the client lists them; undefined for any. */
  readonly ifMatch: string | undefined
}

export const rootAlias = 't0'
