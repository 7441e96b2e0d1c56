import type { Callable, EntityOf, Given, KeyOf, NullOf, RoleAt, Scalar } from './entity.ts'

/** What stands for a value in JSON: a date-time is the text `YYYY-MM-DD HH:MM:SS`. */
export type Shown<Value> = unknown extends Value
  ? unknown
  : Value extends undefined
    ? null
    : Value extends Date
      ? string
      : Value extends bigint
        ? number | string
        : Value extends Scalar
          ? Value
          : Value extends readonly (infer Member)[]
            ? readonly Shown<Member>[]
            : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]: Shown<Value[Name]> }

/** What may be sent for a value: a date-time as a `Date` too. */
export type Sent<Value> = unknown extends Value
  ? unknown
  : Value extends undefined
    ? null
    : Value extends Date
      ? Date | string
      : Value extends bigint
        ? bigint | number | string
        : Value extends Scalar
          ? Value
          : Value extends readonly (infer Member)[]
            ? readonly Sent<Member>[]
            : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]?: Sent<Value[Name]> }

type ReferenceOf<Value> = KeyOf<Given<Value>> | NullOf<Value>

/** A record as the service shows it: `country` is `country_id`, and what is excluded is not there. */
export type RecordOf<Resource, Resources = { readonly resource: Resource }> = RecordIn<EntityOf<Resource>, Resources>
type RecordIn<Entity, Resources> = {
  readonly [Name in keyof Entity & string as JsonName<Name, RoleAt<Entity, Name, Resources>>]: RoleAt<
    Entity,
    Name,
    Resources
  > extends 'one'
    ? ReferenceOf<Entity[Name]>
    : Shown<Entity[Name]>
}

/** What a create or an update gives: what is excluded can be written. The service says what is missing. */
export type ValuesOf<Resource, Resources = { readonly resource: Resource }> = ValuesIn<EntityOf<Resource>, Resources>
type ValuesIn<Entity, Resources> = {
  readonly [Name in keyof Entity & string as JsonName<Name, RoleAt<Entity, Name, Resources, never>>]?: RoleAt<
    Entity,
    Name,
    Resources,
    never
  > extends 'one'
    ? ReferenceOf<Entity[Name]>
    : Sent<Entity[Name]>
}

/** How JSON calls a property, by its role. */
type JsonName<Name extends string, Role> = Role extends 'field' ? Name : Role extends 'one' ? `${Name}_id` : never
