import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import type { OperatorName } from '../value/kind'

/** A field of the resource itself, or of one that is joined. */
export interface FieldRef {
  /** Whose field: `rootAlias`, or a join's. */
  readonly alias: string
  readonly field: Field
}

/** Follows one foreign key. */
export interface Join {
  readonly alias: string
  readonly from: FieldRef
}

/** `values` are of the field's kind; for `is` see {@link IsValue}. Several mean any of them, or all (D17). */
export interface Condition {
  readonly on: FieldRef
  readonly operator: OperatorName
  readonly values: readonly unknown[]
}

export type IsValue = 'null' | 'not_null' | boolean

export interface Order {
  readonly by: FieldRef
  readonly descending: boolean
}

/** Everything one SELECT needs. No text of a request is in it but values to bind. */
export interface SelectPlan {
  readonly resource: Resource
  readonly joins: readonly Join[]
  readonly conditions: readonly Condition[]
  readonly ordering: readonly Order[]
  readonly limit: number
  readonly offset: number
}

/** Values by field, checked; what an INSERT or UPDATE sets. */
export type ChangeSet = ReadonlyMap<Field, unknown>

/** Which record a PUT or DELETE is about, and whose it was when it was read. */
export interface Target {
  readonly key: unknown
  /** Undefined where records have no owner. */
  readonly owner: unknown
}

export const rootAlias = 't0'
