import type { EntityOf, Given, KeyOf, NullOf, PropertyAt, Related, RoleAt } from './entity.ts'
import type { IsObject } from './filters.ts'
import type { IsEnumeration } from './operators.ts'
import type { BodyOf, JsonOf } from './records.ts'

type DatePart = 'year' | 'quarter' | 'month' | 'week' | 'day'
type Comparison = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte'

/**
 * The name of a function for groups, such as `count` or `minutes__sum`; `never` if the field has no such function. Names
 * are checked one by one: a union of all of them would slow down the compiler by seconds.
 */
export type CheckedAggregate<Resource, Resources, Name> = Name extends 'count'
  ? Name
  : Name extends `${infer Path}__${FunctionOfNumber}`
    ? Name extends `${Path}__${FunctionOf<NonNullable<ValueAtPath<EntityOf<Resource>, Path, Resources>>>}`
      ? Name
      : never
    : never

/** Names of the functions of a value. Decimals are strings in most entities, so that a string has all functions. */
type FunctionOf<Value> = [Value] extends [never]
  ? never
  : [Value] extends [Date]
    ? 'min' | 'max'
    : [Value] extends [boolean]
      ? 'count_distinct'
      : [Value] extends [bigint]
        ? FunctionOfNumber
        : [Value] extends [string | number]
          ? IsEnumeration<Value> extends true
            ? 'count_distinct'
            : FunctionOfNumber
          : never
type FunctionOfNumber = 'sum' | 'avg' | 'min' | 'max' | 'count_distinct'

/** The name of a group key, or `never` if groups cannot be identified by it. */
export type CheckedGroupKey<Resource, Resources, Name> =
  IsNever<ValueAtPath<EntityOf<Resource>, Name, Resources>> extends true
    ? Name extends `${infer Path}__${DatePart}`
      ? Extract<Name, GroupNameOf<Path, NonNullable<ValueAtPath<EntityOf<Resource>, Path, Resources>>>>
      : never
    : Extract<Name, GroupNameOf<Name & string, NonNullable<ValueAtPath<EntityOf<Resource>, Name, Resources>>>>
/** A `Date` is a date-time, which needs a date part; a string may be a date. */
type GroupNameOf<Name extends string, Value> = [Value] extends [never]
  ? never
  : [Value] extends [Date]
    ? `${Name}__${DatePart}`
    : [Value] extends [string]
      ? IsEnumeration<Value> extends true
        ? Name
        : Name | `${Name}__${DatePart}`
      : Name

/** Filters on groups, such as `minutes__sum__gte`. */
export type HavingOf<Resource, Resources, Name extends string> = {
  readonly [Filter in Name as `${Filter}__${Comparison}`]?: OperandOf<Resource, Resources, Filter> | undefined
}
type OperandOf<Resource, Resources, Name> = Name extends `${infer Path}__${'min' | 'max'}`
  ? BodyOf<NonNullable<ValueAtPath<EntityOf<Resource>, Path, Resources>>>
  : Name extends `${string}__sum`
    ? bigint | number | string
    : number

/** A group: its members have the names of the request. */
export type Group<Resource, Resources, Name extends string, Key extends string> = {
  readonly [Member in Name | Key]: Member extends Key
    ? KeyValueAt<EntityOf<Resource>, Member, Resources>
    : ResultAt<Resource, Resources, Member>
}

/** Type of the result of a function. It is null if no value is known, but numbers of records and values are not. */
type ResultAt<Resource, Resources, Name> = Name extends 'count' | `${string}__count_distinct`
  ? number
  : Name extends `${string}__avg`
    ? number | null
    : Name extends `${infer Path}__${'sum' | 'min' | 'max'}`
      ? JsonOf<NonNullable<ValueAtPath<EntityOf<Resource>, Path, Resources>>> | null
      : never

type KeyValueAt<Entity, Name, Resources> =
  IsNever<ValueAtPath<Entity, Name, Resources>> extends true
    ? Name extends `${infer Path}__${DatePart}`
      ? string | Extract<ValueAtPath<Entity, Path, Resources>, null>
      : never
    : JsonOf<ValueAtPath<Entity, Name, Resources>>
type IsNever<Value> = [Value] extends [never] ? true : false

/**
 * Type of the value at a path, with null if it may be null: through a relation it may always be, because the principal
 * may not see the related record. `never` if there is no such path.
 */
type ValueAtPath<Entity, Path, Resources> =
  RoleAt<Entity, Path, Resources> extends infer Role
    ? Role extends 'field'
      ? Given<PropertyAt<Entity, Path>> | NullOf<PropertyAt<Entity, Path>>
      : Role extends 'one'
        ? ReferenceAt<Entity, Path>
        : Path extends `${infer First}__${infer Rest}`
          ? ValueWithin<Entity, First, Rest, Resources>
          : Path extends `${infer Relation}_id`
            ? RoleAt<Entity, Relation, Resources> extends 'one'
              ? ReferenceAt<Entity, Relation>
              : never
            : never
    : never
type ReferenceAt<Entity, Relation> = KeyOf<Given<PropertyAt<Entity, Relation>>> | NullOf<PropertyAt<Entity, Relation>>

type ValueWithin<Entity, First, Rest, Resources> =
  RoleAt<Entity, First, Resources> extends 'one'
    ? OrNull<ValueAtPath<Related<PropertyAt<Entity, First>>, Rest, Resources>>
    : RoleAt<Entity, First, Resources> extends 'field'
      ? IsObject<Given<PropertyAt<Entity, First>>> extends true
        ? ValueAtPath<Given<PropertyAt<Entity, First>>, Rest, Resources>
        : never
      : never
/** Adds null, but not to `never`, which is a path that does not exist. */
type OrNull<Value> = [Value] extends [never] ? never : Value | null
