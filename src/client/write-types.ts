import type { EntityOf } from './entity.ts'
import type { AllFilters, Checked } from './filters.ts'
import type { CheckedIncludes, IncludesOf, WithIncludes } from './includes.ts'
import type { RecordOf, ValuesOf } from './records.ts'
import type {
  IncludingOptions,
  KeyOptions,
  MatchingOptions,
  RequestOptions,
  UpsertOptions,
  WriteOptions,
} from './request-options.ts'

/** Methods of one resource that write records. */
export interface ResourceWrites<Resource, Resources> {
  readonly create: <Includes extends IncludesOf<Resource, Resources> = never>(
    values: ValuesOf<Resource, Resources>,
    options?: RequestOptions & KeyOptions & IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => Promise<WithIncludes<RecordOf<Resource, Resources>, Resource, Resources, Includes>>
  /**
   * Creates several records in one transaction: all of them, or none. The result has their order. Only if the resource has
   * the option `bulk`, as for `updateMany` and `deleteMany`.
   */
  readonly createMany: (
    records: readonly ValuesOf<Resource, Resources>[],
    options?: RequestOptions & KeyOptions,
  ) => Promise<readonly RecordOf<Resource, Resources>[]>
  /** Changes only the fields in `values`. */
  readonly update: <Includes extends IncludesOf<Resource, Resources> = never>(
    id: string | number,
    values: ValuesOf<Resource, Resources>,
    options?: WriteOptions & IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => Promise<WithIncludes<RecordOf<Resource, Resources>, Resource, Resources, Includes>>
  /**
   * Changes these fields of all records that match the filters, in one transaction.
   * @returns the number of records
   * @throws {TypeError} without filters and search, and for a filter that is undefined
   */
  readonly updateMany: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters: Checked<Resource, Resources, Filters>,
    values: ValuesOf<Resource, Resources>,
    options?: MatchingOptions & KeyOptions,
  ) => Promise<number>
  /**
   * Changes these fields of the record that has the same values in the fields `on`. Creates a record if there is none.
   */
  readonly upsert: <Includes extends IncludesOf<Resource, Resources> = never>(
    values: ValuesOf<Resource, Resources>,
    options: UpsertOptions<keyof RecordOf<Resource, Resources>> &
      IncludingOptions<CheckedIncludes<Resource, Resources, Includes>>,
  ) => Promise<Upserted<WithIncludes<RecordOf<Resource, Resources>, Resource, Resources, Includes>>>
  /** Updates or creates several records like `upsert`, in one transaction. Only if the resource has the option `bulk`. */
  readonly upsertMany: (
    records: readonly ValuesOf<Resource, Resources>[],
    options: UpsertOptions<keyof RecordOf<Resource, Resources>>,
  ) => Promise<UpsertedMany<RecordOf<Resource, Resources>>>
  readonly delete: (id: string | number, options?: WriteOptions) => Promise<void>
  /**
   * Deletes all records that match the filters, in one transaction.
   * @returns the number of records
   * @throws {TypeError} without filters and search, and for a filter that is undefined
   */
  readonly deleteMany: <Filters extends object = AllFilters<EntityOf<Resource>, Resources>>(
    filters: Checked<Resource, Resources, Filters>,
    options?: MatchingOptions,
  ) => Promise<number>
}

/** Result of `upsert`. */
export interface Upserted<Item> {
  readonly record: Item
  /** Whether there was no record with these values before. */
  readonly created: boolean
}

/** Result of `upsertMany`. */
export interface UpsertedMany<Item> {
  /** Number of new records. */
  readonly created: number
  /** Number of records that existed before. */
  readonly updated: number
  /** The ids of all records, in the order of the values. */
  readonly ids: readonly (Item extends { readonly id: infer Id } ? Id : never)[]
}
