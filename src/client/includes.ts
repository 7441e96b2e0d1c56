import type { EntityOf, NamesOf, PropertyAt, Related, RoleAt, Scalar } from './entity.ts'
import type { FiltersOf } from './filters.ts'
import type { OrderingOf } from './ordering.ts'
import type { RecordOf, Selected } from './records.ts'

/** The option `include`, by the names of relations: `{ author: true, comments: { limit: 5 } }`. */
export type IncludesOf<Resource, Resources = { readonly resource: Resource }> = IncludesIn<
  EntityOf<Resource>,
  Resources
>
type IncludesIn<Entity, Resources> = {
  readonly [Name in NamesOf<Entity, 'one' | 'many', Resources>]?:
    | true
    | (RoleAt<Entity, Name, Resources> extends 'one'
        ? IncludeOptions<Related<Entity[Name]>, Resources>
        : IncludeListOptions<Related<Entity[Name]>, Resources>)
}

/** Options of related records. */
export interface IncludeOptions<Entity, Resources> {
  /** Names of the fields, besides `id`, which records always have. Default: all fields. */
  readonly fields?: readonly (keyof RecordOf<Entity, Resources>)[]
  /** Related records of the related records, up to four levels. */
  readonly include?: IncludesIn<Entity, Resources>
}

/** Options of related records of a relation to many. */
export interface IncludeListOptions<Entity, Resources> extends IncludeOptions<Entity, Resources> {
  /** Filters of the related records. Default: all records. */
  readonly where?: FiltersOf<Entity, Resources>
  /** Fields to sort by, in order of priority. Default: `id`. */
  readonly ordering?: OrderingOf<Entity, Resources> | readonly OrderingOf<Entity, Resources>[]
  /** Maximum number of records in each array. Default: 100. 0 is allowed with `count`. */
  readonly limit?: number
  /** Adds the number of related records: `comments_total`. */
  readonly count?: 'exact'
  /** Words, each of which must occur in a field that the service searches. */
  readonly search?: string
}

/**
 * Type of the option `include` in a call. The compiler accepts additional names in an object whose type it infers; here
 * they have a type that no value has.
 */
export type CheckedIncludes<Resource, Resources, Includes> = Includes & Exact<IncludesOf<Resource, Resources>, Includes>
/**
 * Refuses additional names. Values are compared with the shape by the constraint of `Includes`: here they are `unknown`,
 * because the intersection of two unions of all names for `ordering` is too complex for the compiler.
 */
type Exact<Shape, Value> = [Value] extends [Scalar | readonly Scalar[]]
  ? unknown
  : Value extends Scalar
    ? Value
    : Value extends readonly (infer Member)[]
      ? readonly Exact<Extract<Shape, readonly unknown[]>[number], Member>[]
      : {
          readonly [Name in keyof Value]: Name extends keyof Exclude<Shape, Scalar>
            ? Exact<Exclude<Shape, Scalar>[Name], Value[Name]>
            : NoSuchName<Name>
        }

/** Type of a name that is not a relation, parameter or filter. The compiler's message shows the name. */
export interface NoSuchName<Name> {
  readonly [missing]: Name
}
declare const missing: unique symbol

/** A record with the related records that `Includes` names; the record itself if `Includes` is never. */
export type WithIncludes<Item, Resource, Resources, Includes> = [Includes] extends [never]
  ? Item
  : Flat<Item & IncludedIn<EntityOf<Resource>, Resources, Includes>>
/** An intersection as one object type, as which editors show it. */
type Flat<Value> = { readonly [Name in keyof Value]: Value[Name] } & {}

type IncludedIn<Entity, Resources, Includes> = {
  readonly [Name in keyof Includes]: RoleAt<Entity, Name, Resources> extends 'one'
    ? // A row scope or soft deletion may hide the record, even if the relation is not nullable.
      RelatedRecord<PropertyAt<Entity, Name>, Resources, Includes[Name]> | null
    : readonly RelatedRecord<PropertyAt<Entity, Name>, Resources, Includes[Name]>[]
} & {
  /** Path of the records that follow: empty if there are none, null if no filter can select them. */
  readonly [Name in keyof Includes & string as ListName<Entity, Name, Resources, '_next'>]: string | null
} & {
  readonly [Name in keyof Includes & string as Includes[Name] extends { readonly count: 'exact' }
    ? ListName<Entity, Name, Resources, '_total'>
    : never]: number
}
type ListName<Entity, Name extends string, Resources, Suffix extends string> =
  RoleAt<Entity, Name, Resources> extends 'many' ? `${Name}${Suffix}` : never

type RelatedRecord<Relation, Resources, Options> = WithIncludes<
  Selected<RecordOf<Related<Relation>, Resources>, FieldIn<Options>>,
  Related<Relation>,
  Resources,
  IncludesOfOptions<Options>
>
type FieldIn<Options> = Options extends { readonly fields: readonly (infer Name)[] } ? Name : never
type IncludesOfOptions<Options> = Options extends { readonly include: infer Includes } ? Includes : never
