/**
 * An entity some of whose properties are not shown, as `@Resource({ exclude })` says; they can still be written:
 * `createClient<{ user: Excluding<User, 'password' | 'email'> }>(…)`.
 */
export interface Excluding<Entity, Names extends keyof Entity> {
  readonly [excluded]: { readonly entity: Entity; readonly names: Names }
}
declare const excluded: unique symbol

/** The class of a resource, whatever it hides. */
type EntityOf<Resource> = Resource extends { readonly [excluded]: { readonly entity: infer Entity } }
  ? Entity
  : Resource
type Hidden<Resource> = Resource extends { readonly [excluded]: { readonly names: infer Names } } ? Names : never

/** Classes of values that are no records. */
type Scalar = string | number | bigint | boolean | Date | null | undefined
type Binary = ArrayBufferLike | ArrayBufferView
type Callable = (...given: never[]) => unknown

/** A lazy relation is a promise. */
type Loaded<Value> = Value extends Promise<infer Inner> ? Inner : Value
type Given<Value> = NonNullable<Loaded<Value>>
/** What other records are known by. Embedded entities have no `id`. */
interface Identified {
  readonly id: unknown
}

type IsToOne<Value> = [Given<Value>] extends [never] ? false : Given<Value> extends Identified ? true : false
type IsToMany<Value> = Given<Value> extends readonly (infer Member)[] ? IsToOne<Member> : false
type IsField<Value> = unknown extends Value
  ? true
  : [Given<Value>] extends [never]
    ? true
    : Given<Value> extends Callable | Binary
      ? false
      : IsToOne<Value> extends true
        ? false
        : IsToMany<Value> extends true
          ? false
          : true

/** Properties that a record shows by their own name. */
type FieldName<Entity> = {
  [Name in keyof Entity & string]: IsField<Entity[Name]> extends true ? Name : never
}[keyof Entity & string]
type ToOneName<Entity> = {
  [Name in keyof Entity & string]: IsToOne<Entity[Name]> extends true ? Name : never
}[keyof Entity & string]
type ToManyName<Entity> = {
  [Name in keyof Entity & string]: IsToMany<Entity[Name]> extends true ? Name : never
}[keyof Entity & string]

type IdOf<Value> = Given<Value> extends { readonly id: infer Id } ? Id : never
type NullOf<Value> = null extends Loaded<Value> ? null : never

/** What stands for a value in JSON: a date-time is the text `YYYY-MM-DD HH:MM:SS`. */
export type Shown<Value> = unknown extends Value
  ? unknown
  : Value extends Date
    ? string
    : Value extends Scalar
      ? Value
      : Value extends readonly (infer Member)[]
        ? readonly Shown<Member>[]
        : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]: Shown<Value[Name]> }

type WithId<Entity> = 'id' extends keyof Entity ? unknown : { readonly id: string | number }

/** A record as the service shows it: `country` is `country_id`, and what is excluded is not there. */
export type RecordOf<Resource> = Flat<
  {
    readonly [Name in Exclude<FieldName<EntityOf<Resource>>, Hidden<Resource>>]: Shown<EntityOf<Resource>[Name]>
  } & {
    readonly [Name in Exclude<ToOneName<EntityOf<Resource>>, Hidden<Resource>> as `${Name}_id`]:
      | IdOf<EntityOf<Resource>[Name]>
      | NullOf<EntityOf<Resource>[Name]>
  } & WithId<EntityOf<Resource>>
>

/** As one object, which an editor shows better than parts of one. */
type Flat<Value> = { [Name in keyof Value]: Value[Name] }

/** What may be sent for a value: a date-time as a `Date` too. */
export type Sent<Value> = unknown extends Value
  ? unknown
  : Value extends Date
    ? Date | string
    : Value extends Scalar
      ? Value
      : Value extends readonly (infer Member)[]
        ? readonly Sent<Member>[]
        : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]?: Sent<Value[Name]> }

/** What a create or an update gives: what is excluded can be written. The service says what is missing. */
export type ValuesOf<Resource> = Flat<
  { readonly [Name in FieldName<EntityOf<Resource>>]?: Sent<EntityOf<Resource>[Name]> } & {
    readonly [Name in ToOneName<EntityOf<Resource>> as `${Name}_id`]?:
      | IdOf<EntityOf<Resource>[Name]>
      | NullOf<EntityOf<Resource>[Name]>
  }
>

type Equality<Value> = { eq: Value; ne: Value; in: readonly Value[]; is: 'null' | 'not_null' }
type Order<Value> = Equality<Value> & { lt: Value; lte: Value; gt: Value; gte: Value }
type Text = Order<string> & { like: string; ilike: string }

/** What a filter by each operator is compared with (spec.md, Query parameters). */
type Operands<Value> = unknown extends Value
  ? Text
  : [Value] extends [boolean]
    ? Omit<Equality<boolean>, 'is'> & { is: 'null' | 'not_null' | boolean }
    : [Value] extends [Date]
      ? Order<Date | string>
      : [Value] extends [string]
        ? string extends Value
          ? Text
          : Equality<Value>
        : [Value] extends [number | bigint]
          ? Order<Value>
          : [Value] extends [string | number]
            ? Order<Value>
            : { is: 'null' | 'not_null' }

/** The filters by one field: `score` and `score__gte`. */
type FieldFilters<Name extends string, Value> = {
  readonly [Operator in keyof Operands<Value> & string as Operator extends 'eq'
    ? Name | `${Name}__eq`
    : `${Name}__${Operator}`]?: Operands<Value>[Operator]
}

type ValueFilters<Name extends string, Value> = unknown extends Value
  ? FieldFilters<Name, Value>
  : [Value] extends [Scalar | readonly unknown[]]
    ? FieldFilters<Name, Value>
    : // Of an embedded entity, or of JSON.
      { [Inner in keyof Value & string]: ValueFilters<`${Name}__${Inner}`, Given<Value[Inner]>> }[keyof Value & string]

type Joined<Unions> = (Unions extends unknown ? (given: Unions) => void : never) extends (given: infer All) => void
  ? All
  : never

type OwnFilters<Entity, HiddenNames> = Joined<
  | { [Name in Exclude<FieldName<Entity>, HiddenNames>]: ValueFilters<Name, Given<Entity[Name]>> }[Exclude<
      FieldName<Entity>,
      HiddenNames
    >]
  | {
      [Name in Exclude<ToOneName<Entity>, HiddenNames>]: FieldFilters<Name | `${Name}_id`, IdOf<Entity[Name]>>
    }[Exclude<ToOneName<Entity>, HiddenNames>]
>

type Prefixed<Name extends string, Filters> = {
  readonly [Inner in keyof Filters & string as `${Name}__${Inner}`]?: Filters[Inner]
}
/** One relation less to follow. */
type Fewer = [never, 0, 1, 2]
type RelationName<Entity> = ToOneName<Entity> | ToManyName<Entity>
type Related<Value> = Given<Value> extends readonly (infer Member)[] ? Given<Member> : Given<Value>

type JoinFilters<Entity, HiddenNames, Depth extends 0 | 1 | 2 | 3> = Depth extends 0
  ? unknown
  : Joined<
      {
        [Name in Exclude<RelationName<Entity>, HiddenNames>]: Prefixed<
          Name,
          FiltersWithin<Related<Entity[Name]>, never, Fewer[Depth]>
        >
      }[Exclude<RelationName<Entity>, HiddenNames>]
    >

type FiltersWithin<Entity, HiddenNames, Depth extends 0 | 1 | 2 | 3> = OwnFilters<Entity, HiddenNames> &
  JoinFilters<Entity, HiddenNames, Depth>

/** The filters of a list, through at most three relations. */
export type FiltersOf<Resource> = FiltersWithin<EntityOf<Resource>, Hidden<Resource>, 3>

type OrderName<Resource> =
  | (keyof RecordOf<Resource> & string)
  | Exclude<ToOneName<EntityOf<Resource>>, Hidden<Resource>>

/** A field to sort by, descending with a hyphen before it. */
export type OrderingOf<Resource> = OrderName<Resource> | `-${OrderName<Resource>}`
