import type { OperatorName } from './value/value-type'

/**
 * Filter of application code: an object whose keys are names of filters, or `or`, `and` and `not`. The compiler checks
 * the names in a function that is passed to `@Resource`. If it rejects a valid name, declare this type as the return type
 * of the function.
 */
export interface FilterObject {
  readonly [name: string]: FilterValue
}
/** Value, or member of a list, in a filter object. */
export type FilterScalar = string | number | bigint | boolean | Date | null
/** Value of a filter: null and an empty list match nothing. */
export type FilterValue = FilterScalar | readonly FilterScalar[] | FilterObject | readonly FilterObject[]

/**
 * What the functions of `scope` and `may` return: a filter object, an array of filter objects of which at least one must
 * match, true for all records, or false for none.
 */
export type ScopeResult = FilterObject | readonly FilterObject[] | boolean

/** Filters that a record must match before and after an update. Default of each: true. */
export interface BeforeAndAfter {
  /** Must match the stored record, before it is changed. */
  readonly before?: ScopeResult
  /** Must match the record with the new values. */
  readonly after?: ScopeResult
}

/** The filters in a member of `may`. */
export type FilterOf<Member> = Member extends (principal: never) => infer Result
  ? FilterOfResult<Result>
  : FilterOfResult<Member>
type FilterOfResult<Result> = Result extends BeforeAndAfter ? NonNullable<Result[keyof Result]> : Result

/** Marker for a name in a filter object that is no filter, so that the compiler's message contains the name. */
export interface NoSuchFilter<Name> {
  readonly [noSuchFilter]: Name
}
declare const noSuchFilter: unique symbol

/** The keys of filter objects that are not names of filters on an entity. */
export type UnknownFilter<Entity, Filter> = Filter extends readonly (infer Member)[]
  ? UnknownFilter<Entity, Member>
  : Filter extends FilterScalar
    ? never
    : {
        [Name in keyof Filter]-?: Name extends 'or' | 'and' | 'not'
          ? UnknownFilter<Entity, Filter[Name]>
          : IsFilterName<Entity, Name> extends true
            ? never
            : Name
      }[keyof Filter]

/** Whether a name is a path of properties, with or without an operator. The type `string` is accepted. */
type IsFilterName<Entity, Name> = unknown extends Entity
  ? true
  : string extends Name
    ? true
    : Name extends `${infer First}__${infer Rest}`
      ? [PropertyAt<Entity, First>] extends [never]
        ? false
        : Rest extends OperatorName
          ? true
          : IsFilterName<RelatedIn<PropertyAt<Entity, First>>, Rest>
      : [PropertyAt<Entity, Name>] extends [never]
        ? false
        : true

/** Type of a property that a name refers to: a foreign key with `_id` refers to its relation, `id` to any key. */
type PropertyAt<Entity, Name> = Name extends keyof Entity
  ? Entity[Name]
  : Name extends `${infer Relation}_id`
    ? Relation extends keyof Entity
      ? Entity[Relation]
      : never
    : Name extends 'id'
      ? FilterScalar
      : never

/** Entity that a property leads to: the related one, or the embedded one. */
type RelatedIn<Value> =
  Value extends Promise<infer Inner>
    ? RelatedIn<Inner>
    : Value extends readonly (infer Member)[]
      ? RelatedIn<Member>
      : NonNullable<Value>
