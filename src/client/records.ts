import type { Callable, EntityOf, Given, KeyOf, NamesOf, NullOf, Related, RoleAt, Scalar } from './entity.ts'

/** Type of a value in a record's JSON. A date-time is a string `YYYY-MM-DD HH:MM:SS`. */
export type JsonOf<Value> = unknown extends Value
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
            ? readonly JsonOf<Member>[]
            : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]: JsonOf<Value[Name]> }

/** Type of a value in a body. A date-time may also be a `Date`. */
export type BodyOf<Value> = unknown extends Value
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
            ? readonly BodyOf<Member>[]
            : { readonly [Name in keyof Value as Value[Name] extends Callable ? never : Name]?: BodyOf<Value[Name]> }

/** Type of a foreign key, from the type of the relation: the key of the related entity. */
type ReferenceOf<Value> = KeyOf<Given<Value>> | NullOf<Value>

/**
 * A record as the service returns it: a relation `country` is the foreign key `country_id`, and hidden properties are
 * left out.
 */
export type RecordOf<Resource, Resources = { readonly resource: Resource }> = RecordIn<EntityOf<Resource>, Resources>
type RecordIn<Entity, Resources> = {
  readonly [Name in keyof Entity & string as JsonName<Name, RoleAt<Entity, Name, Resources>>]: RoleAt<
    Entity,
    Name,
    Resources
  > extends 'one'
    ? ReferenceOf<Entity[Name]>
    : JsonOf<Entity[Name]>
}

/**
 * Values for `create` and `update`. The type requires none of them: the service reports missing ones. Hidden properties can
 * be written. The types do not know which relations have the option `nested`: all relations to many can be named.
 */
export type ValuesOf<Resource, Resources = { readonly resource: Resource }> = ValuesIn<EntityOf<Resource>, Resources>
type ValuesIn<Entity, Resources> = {
  readonly [Name in keyof Entity & string as JsonName<Name, RoleAt<Entity, Name, Resources, never>>]?: RoleAt<
    Entity,
    Name,
    Resources,
    never
  > extends 'one'
    ? ReferenceOf<Entity[Name]>
    : BodyOf<Entity[Name]>
} & {
  /** Related records of a one-to-many relation, such as `lines`. */
  readonly [Name in NamesOf<Entity, 'many', Resources, never>]?: readonly ValuesIn<Related<Entity[Name]>, Resources>[]
} & {
  /** Keys of the related records of a many-to-many relation, such as `tag_ids` for the relation `tags`. */
  readonly [Name in NamesOf<Entity, 'many', Resources, never> as KeysName<Name>]?: readonly KeyOf<
    Related<Entity[Name]>
  >[]
}
type KeysName<Name extends string> = `${Name extends `${infer Singular}s` ? Singular : Name}_ids`

/** Name of a property in JSON by its `RoleAt`. `never` leaves the property out. */
type JsonName<Name extends string, Role> = Role extends 'field' ? Name : Role extends 'one' ? `${Name}_id` : never

/** A record with the selected fields; with all fields if `Name` is never. */
export type Selected<Item, Name> = [Name] extends [never] ? Item : Pick<Item, Extract<keyof Item, Name | 'id'>>
