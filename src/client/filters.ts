import type { EntityOf, Given, KeyOf, PropertyAt, Related, RoleAt, Scalar } from './entity.ts'
import type { Operands } from './operators.ts'

/** Number of relations that a filter name may still follow. */
type Depth = 0 | 1 | 2 | 3
type Decremented = [never, 0, 1, 2]

/**
 * Type of the filters in a call, with the operand type of each name. `list` is generic in its filters so that the
 * compiler resolves only the names in the call: the number of names through relations grows exponentially.
 */
export type Checked<Resource, Resources, Filters> = {
  readonly [Name in keyof Filters]: Name extends GroupName
    ? GroupOf<Resource, Resources, Name> | undefined
    : OperandAt<EntityOf<Resource>, Name, Resources, 3, Name> | undefined
}

/** All filters of a list, through at most three relations. */
export type FiltersOf<Resource, Resources = { readonly resource: Resource }> = Checked<
  Resource,
  Resources,
  AllFilters<EntityOf<Resource>, Resources>
>

/** Groups of filters: at least one matches (`or`), all match (`and`), not all match (`not`). */
type GroupName = 'or' | 'and' | 'not'
type GroupOf<Resource, Resources, Name extends GroupName> = Name extends 'not'
  ? FiltersOf<Resource, Resources>
  : readonly FiltersOf<Resource, Resources>[]

/**
 * Names of all filters, for completion in editors. It is a mapped type over the entity's keys so that the compiler
 * expands it lazily.
 */
export type AllFilters<Entity, Resources> = {
  readonly [Name in (keyof Entity & string) | GroupName as Name extends keyof Entity
    ? NameFrom<Entity, Name, Resources, 3>
    : Name]?: unknown
}

/** Operand type of a name that is not a filter. The compiler's message shows the name. */
export interface NoSuchFilter<Name> {
  readonly [missing]: Name
}
declare const missing: unique symbol

/**
 * Operand type of a filter name. As in the service, a name is a path of fields, and its last part is an operator only
 * if it is not a field (specification: Names of filters).
 */
type OperandAt<
  Entity,
  Name,
  Resources,
  Remaining extends Depth,
  FullName,
> = Name extends `${infer First}__${infer Rest}`
  ? OperandThrough<Entity, First, Rest, Resources, Remaining, FullName>
  : OperandOf<ValueAt<Entity, Name, Resources>, 'eq', FullName>

type OperandOf<Value, Operator, FullName> =
  IsNoValue<Value> extends true
    ? NoSuchFilter<FullName>
    : Operator extends keyof Operands<Value>
      ? Operands<Value>[Operator]
      : NoSuchFilter<FullName>

/** Whether a type is {@link NoValue}. `any` is not. */
type IsNoValue<Value> = unknown extends Value ? false : [Value] extends [NoValue] ? true : false

/** Cases, in this order: relation to many; no further relation may be followed; relation to one; embedded object. */
type OperandThrough<Entity, First, Rest, Resources, Remaining extends Depth, FullName> =
  RoleAt<Entity, First, Resources> extends 'many'
    ? Remaining extends 0
      ? NoSuchFilter<FullName>
      : OperandAt<Related<PropertyAt<Entity, First>>, Rest, Resources, Decremented[Remaining], FullName>
    : Remaining extends 0
      ? OperandOf<ValueAt<Entity, First, Resources>, Rest, FullName>
      : RoleAt<Entity, First, Resources> extends 'one'
        ? OperandWithin<
            Related<PropertyAt<Entity, First>>,
            ValueAt<Entity, First, Resources>,
            Rest,
            Resources,
            Decremented[Remaining],
            FullName
          >
        : OperandWithin<
            ValueAt<Entity, First, Resources>,
            ValueAt<Entity, First, Resources>,
            Rest,
            Resources,
            Remaining,
            FullName
          >

/**
 * Operand type for a to-one relation or an object: the rest of the name is a path in it or, if there is no such path, an
 * operator on it.
 */
type OperandWithin<Target, Value, Rest, Resources, Remaining extends Depth, FullName> =
  IsObject<Target> extends true
    ? OperandAt<Target, Rest, Resources, Remaining, FullName> extends NoSuchFilter<FullName>
      ? OperandOf<Value, Rest, FullName>
      : OperandAt<Target, Rest, Resources, Remaining, FullName>
    : OperandOf<Value, Rest, FullName>

/** Whether a type may be an embedded entity. It cannot be distinguished from a JSON object with known properties. */
export type IsObject<Value> = unknown extends Value
  ? false
  : [Value] extends [Scalar | readonly unknown[] | NoValue]
    ? false
    : string extends keyof Value
      ? false
      : true

/** Type of the value of a name that is neither a field nor a foreign key. */
interface NoValue {
  readonly [noValue]: true
}
declare const noValue: unique symbol

/** Type of the field with a name. For a foreign key (`country` or `country_id`), it is the type of the related key. */
type ValueAt<Entity, Name, Resources> =
  RoleAt<Entity, Name, Resources> extends 'field'
    ? Given<PropertyAt<Entity, Name>>
    : RoleAt<Entity, Name, Resources> extends 'one'
      ? KeyOf<Given<PropertyAt<Entity, Name>>>
      : Name extends `${infer Relation}_id`
        ? RoleAt<Entity, Relation, Resources> extends 'one'
          ? KeyOf<Given<PropertyAt<Entity, Relation>>>
          : NoValue
        : NoValue

/** Filter names of an entity. */
type FilterName<Entity, Resources, Remaining extends Depth> = {
  readonly [Name in keyof Entity & string]: NameFrom<Entity, Name, Resources, Remaining>
}[keyof Entity & string]

/** Filter names that start with a property. */
type NameFrom<Entity, Name extends keyof Entity & string, Resources, Remaining extends Depth> =
  | FieldFilterName<Entity, Name, Resources, Remaining>
  | (Remaining extends 0
      ? never
      : RoleAt<Entity, Name, Resources> extends 'one' | 'many'
        ? `${Name}__${FilterName<Related<Entity[Name]>, Resources, Decremented[Remaining]>}`
        : never)

type FieldFilterName<Entity, Name extends keyof Entity & string, Resources, Remaining extends Depth> =
  RoleAt<Entity, Name, Resources> extends 'one'
    ? WithOperators<Name | `${Name}_id`, KeyOf<Given<Entity[Name]>>>
    : RoleAt<Entity, Name, Resources> extends 'field'
      ?
          | WithOperators<Name, Given<Entity[Name]>>
          | (IsObject<Given<Entity[Name]>> extends true
              ? `${Name}__${FilterName<Given<Entity[Name]>, Resources, Remaining>}`
              : never)
      : never

/** `name__<operator>` for each operator, and `name` alone if `eq` is one of them. */
type WithOperators<Name extends string, Value> =
  | ('eq' extends keyof Operands<Value> ? Name : never)
  | `${Name}__${keyof Operands<Value> & string}`
