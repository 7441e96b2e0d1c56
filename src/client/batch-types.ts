import type { EntityOf, Scalar } from './entity.ts'
import type { AllFilters, Checked } from './filters.ts'
import type { RecordOf, ValuesOf } from './records.ts'
import type { MatchingOptions, UpsertOptions, WriteOptions } from './request-options.ts'
import type { Upserted, UpsertedMany } from './write-types.ts'

/** An operation with a result of any type. */
export interface AnyOperation {
  readonly [result]: unknown
}
declare const result: unique symbol

/** A write that a batch sends, with the type of its result. */
export interface Operation<Result> extends AnyOperation {
  readonly [result]: Result
}

/** An operation that writes one record. */
export interface RecordOperation<Item, Result = Item> extends Operation<Result> {
  /** Returns a reference to a field of the record, for the values of a later operation. */
  readonly ref: <Name extends keyof Item & string>(name: Name) => Reference<Item[Name]>
}

/** Reference to a value that is known only when the batch runs. */
export interface Reference<Value> {
  readonly [referenced]: Value
}
declare const referenced: unique symbol

/** Values, each of which may be a reference. */
export type WithReferences<Values> = unknown extends Values
  ? unknown
  : [Values] extends [Scalar | Date]
    ? Values | Reference<Values>
    : Values extends Scalar | Date
      ? Values
      : Values extends readonly (infer Member)[]
        ? readonly WithReferences<Member>[]
        : { readonly [Name in keyof Values]: WithReferences<Values[Name]> }

/** The methods of one resource that write records, as operations of a batch. */
export interface ResourceOperations<Resource, Resources> {
  readonly create: (
    values: WithReferences<ValuesOf<Resource, Resources>>,
  ) => RecordOperation<RecordOf<Resource, Resources>>
  readonly createMany: (
    records: readonly WithReferences<ValuesOf<Resource, Resources>>[],
  ) => Operation<readonly RecordOf<Resource, Resources>[]>
  readonly update: (
    id: string | number,
    values: WithReferences<ValuesOf<Resource, Resources>>,
    options?: Pick<WriteOptions, 'ifMatch'>,
  ) => RecordOperation<RecordOf<Resource, Resources>>
  readonly updateMany: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters: Checked<Resource, Resources, Filters>,
    values: WithReferences<ValuesOf<Resource, Resources>>,
    options?: Omit<MatchingOptions, 'signal'>,
  ) => Operation<number>
  readonly upsert: (
    values: WithReferences<ValuesOf<Resource, Resources>>,
    options: Pick<UpsertOptions<keyof RecordOf<Resource, Resources>>, 'on'>,
  ) => RecordOperation<RecordOf<Resource, Resources>, Upserted<RecordOf<Resource, Resources>>>
  readonly upsertMany: (
    records: readonly WithReferences<ValuesOf<Resource, Resources>>[],
    options: Pick<UpsertOptions<keyof RecordOf<Resource, Resources>>, 'on'>,
  ) => Operation<UpsertedMany<RecordOf<Resource, Resources>>>
  readonly delete: (id: string | number, options?: Pick<WriteOptions, 'ifMatch'>) => Operation<void>
  readonly deleteMany: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters: Checked<Resource, Resources, Filters>,
    options?: Omit<MatchingOptions, 'signal'>,
  ) => Operation<number>
}

/** Operations on the resources of a client, by their names in the path. */
export type BatchOperations<Resources> = {
  readonly [Name in keyof Resources]: ResourceOperations<Resources[Name], Resources>
}

/** Results of operations, in their order. */
export type BatchResults<Operations extends readonly AnyOperation[]> = {
  readonly [Index in keyof Operations]: Operations[Index][typeof result]
}
