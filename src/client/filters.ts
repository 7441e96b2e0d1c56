import type { EntityOf, Given, KeyOf, PropertyAt, Related, RoleAt, Scalar } from './entity.ts'
import type { Operands } from './operators.ts'

/** How many relations a name may still follow. */
type Depth = 0 | 1 | 2 | 3
type Fewer = [never, 0, 1, 2]

/**
 * The filters that were given, each with what it compares with. Only the names that a program uses are read, however many an
 * entity has through its relations: that is why a list is generic in its filters.
 */
export type Checked<Resource, Resources, Filters> = {
  readonly [Name in keyof Filters]: Name extends GroupName
    ? GroupOf<Resource, Resources, Name> | undefined
    : OperandAt<EntityOf<Resource>, Name, Resources, 3, Name> | undefined
}

/** The filters of a list, through at most three relations. */
export type FiltersOf<Resource, Resources = { readonly resource: Resource }> = Checked<
  Resource,
  Resources,
  AllFilters<EntityOf<Resource>, Resources>
>

/** Combines filters: one of them holds (`or`), each does for related records of its own (`and`), they do not all hold (`not`). */
type GroupName = 'or' | 'and' | 'not'
type GroupOf<Resource, Resources, Name extends GroupName> = Name extends 'not'
  ? FiltersOf<Resource, Resources>
  : readonly FiltersOf<Resource, Resources>[]

/** The names of all filters, for completion. By keys of the entity, so that the compiler lists them only when it is asked to. */
export type AllFilters<Entity, Resources> = {
  readonly [Name in (keyof Entity & string) | GroupName as Name extends keyof Entity
    ? NameFrom<Entity, Name, Resources, 3>
    : Name]?: unknown
}

/** Of a name that is none, so that the compiler's message says which. */
export interface NoSuchFilter<Name> {
  readonly [missing]: Name
}
declare const missing: unique symbol

/** A name is read as the service does: as a path of fields first, its last part as an operator where it is no field (specification: Names of filters). */
type OperandAt<Entity, Name, Resources, Left extends Depth, Full> = Name extends `${infer First}__${infer Rest}`
  ? OperandBehind<Entity, First, Rest, Resources, Left, Full>
  : OperandOf<ValueAt<Entity, Name, Resources>, 'eq', Full>

type OperandOf<Value, Operator, Full> =
  IsNothing<Value> extends true
    ? NoSuchFilter<Full>
    : Operator extends keyof Operands<Value>
      ? Operands<Value>[Operator]
      : NoSuchFilter<Full>

/** `any` is something. */
type IsNothing<Value> = unknown extends Value ? false : [Value] extends [Nothing] ? true : false

type OperandBehind<Entity, First, Rest, Resources, Left extends Depth, Full> =
  RoleAt<Entity, First, Resources> extends 'many'
    ? Left extends 0
      ? NoSuchFilter<Full>
      : OperandAt<Related<PropertyAt<Entity, First>>, Rest, Resources, Fewer[Left], Full>
    : Left extends 0
      ? OperandOf<ValueAt<Entity, First, Resources>, Rest, Full>
      : RoleAt<Entity, First, Resources> extends 'one'
        ? OperandWithin<
            Related<PropertyAt<Entity, First>>,
            ValueAt<Entity, First, Resources>,
            Rest,
            Resources,
            Fewer[Left],
            Full
          >
        : OperandWithin<
            ValueAt<Entity, First, Resources>,
            ValueAt<Entity, First, Resources>,
            Rest,
            Resources,
            Left,
            Full
          >

/** Of a relation to one, or an object: by a path in it, or by an operator of its own. */
type OperandWithin<Target, Value, Rest, Resources, Left extends Depth, Full> =
  IsObject<Target> extends true
    ? OperandAt<Target, Rest, Resources, Left, Full> extends NoSuchFilter<Full>
      ? OperandOf<Value, Rest, Full>
      : OperandAt<Target, Rest, Resources, Left, Full>
    : OperandOf<Value, Rest, Full>

/** Whether there may be an embedded entity, which the types do not tell from JSON. */
export type IsObject<Value> = unknown extends Value
  ? false
  : [Value] extends [Scalar | readonly unknown[] | Nothing]
    ? false
    : string extends keyof Value
      ? false
      : true

/** Where there is no value. */
interface Nothing {
  readonly [nothing]: true
}
declare const nothing: unique symbol

/** The value that a name stands for: of a foreign key, called `country` or `country_id`, that key. */
type ValueAt<Entity, Name, Resources> =
  RoleAt<Entity, Name, Resources> extends 'field'
    ? Given<PropertyAt<Entity, Name>>
    : RoleAt<Entity, Name, Resources> extends 'one'
      ? KeyOf<Given<PropertyAt<Entity, Name>>>
      : Name extends `${infer Relation}_id`
        ? RoleAt<Entity, Relation, Resources> extends 'one'
          ? KeyOf<Given<PropertyAt<Entity, Relation>>>
          : Nothing
        : Nothing

type FilterName<Entity, Resources, Left extends Depth> = {
  readonly [Name in keyof Entity & string]: NameFrom<Entity, Name, Resources, Left>
}[keyof Entity & string]

/** The names that begin with one property. */
type NameFrom<Entity, Name extends keyof Entity & string, Resources, Left extends Depth> =
  | OwnName<Entity, Name, Resources, Left>
  | (Left extends 0
      ? never
      : RoleAt<Entity, Name, Resources> extends 'one' | 'many'
        ? `${Name}__${FilterName<Related<Entity[Name]>, Resources, Fewer[Left]>}`
        : never)

type OwnName<Entity, Name extends keyof Entity & string, Resources, Left extends Depth> =
  RoleAt<Entity, Name, Resources> extends 'one'
    ? Compared<Name | `${Name}_id`, KeyOf<Given<Entity[Name]>>>
    : RoleAt<Entity, Name, Resources> extends 'field'
      ?
          | Compared<Name, Given<Entity[Name]>>
          | (IsObject<Given<Entity[Name]>> extends true
              ? `${Name}__${FilterName<Given<Entity[Name]>, Resources, Left>}`
              : never)
      : never

/** A name, alone where there is equality, and with each operator. */
type Compared<Name extends string, Value> =
  | ('eq' extends keyof Operands<Value> ? Name : never)
  | `${Name}__${keyof Operands<Value> & string}`
