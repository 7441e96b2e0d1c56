/**
 * An entity and the properties that `@Resource({ exclude })` hides in records. Hidden properties can still be written:
 * `createClient<{ user: Excluding<User, 'password' | 'email'> }>(…)`.
 */
export interface Excluding<Entity, Names extends keyof Entity> {
  readonly [excluded]: { readonly entity: Entity; readonly names: Names }
}
declare const excluded: unique symbol

/** Entity class of a resource, without {@link Excluding}. */
type ClassOf<Resource> = Resource extends { readonly [excluded]: { readonly entity: infer Entity } } ? Entity : Resource

/** An entity with the property `id`, which records always have, even if the primary key has another name. */
type Keyed<Entity> = 'id' extends keyof Entity ? Entity : Entity & { readonly id: string | number }
/** Entity class of a resource, with an `id`. */
export type EntityOf<Resource> = Keyed<ClassOf<Resource>>

/** Names of the properties that a resource hides. */
export type HiddenBy<Resource> = Resource extends { readonly [excluded]: { readonly names: infer Names } }
  ? Names
  : never

/**
 * Names of the properties that the resource of an entity hides. They are also hidden through relations
 * (specification: Hidden fields).
 */
export type HiddenIn<Entity, Resources> = HiddenOf<Entity, Hiding<Resources>>
/**
 * The resources that hide properties. It is a conditional type because the compiler caches the results of conditional
 * types, but not of indexed accesses.
 */
type Hiding<Resources> = Resources extends unknown
  ? Extract<Resources[keyof Resources], { readonly [excluded]: unknown }>
  : never
type HiddenOf<Entity, Resource> = Resource extends { readonly [excluded]: { readonly entity: infer Other } }
  ? [Entity, Keyed<Other>] extends [Keyed<Other>, Entity]
    ? HiddenBy<Resource>
    : never
  : never

/** Types of single values. */
export type Scalar = string | number | bigint | boolean | Date | null | undefined
/** Any function. */
export type Callable = (...parameters: never[]) => unknown
type Binary = ArrayBufferLike | ArrayBufferView

/** Value of a property. A lazy relation is a promise of it. */
type Loaded<Value> = Value extends Promise<infer Inner> ? Inner : Value
/** Value of a property, without null and undefined. */
export type Given<Value> = NonNullable<Loaded<Value>>
/** `null` if a property may be null or undefined: records show both as null. Otherwise `never`. */
export type NullOf<Value> = Loaded<Value> extends infer Inner ? (Inner extends null | undefined ? null : never) : never

/** An entity with an `id`. Embedded entities have none. */
interface Identified {
  readonly id: unknown
}
/**
 * Entities whose primary key is not called `id`. They are distinguished from embedded entities because they are
 * resources.
 */
type Keyless<Resources> = Resources extends unknown
  ? {
      readonly [Name in keyof Resources]: ClassOf<Resources[Name]> extends Identified ? never : ClassOf<Resources[Name]>
    }[keyof Resources]
  : never

/**
 * Role of a property: a column or embedded entity (`field`), a relation to one or many records, or not visible to
 * clients (`none`).
 */
type Role<Value, Resources> = [Value] extends [Scalar]
  ? [Value] extends [never]
    ? 'none'
    : 'field'
  : unknown extends Value
    ? 'field'
    : RoleOf<Given<Value>, Resources>
type RoleOf<Value, Resources> = [Value] extends [Scalar]
  ? 'field'
  : [Value] extends [Identified | Keyless<Resources>]
    ? 'one'
    : [Value] extends [readonly (infer Member)[]]
      ? [unknown] extends [Member]
        ? 'field'
        : [Given<Member>] extends [Identified | Keyless<Resources>]
          ? 'many'
          : 'field'
      : [Value] extends [Callable | Binary]
        ? 'none'
        : 'field'

/**
 * Role of the property with a name. A property `authorId` next to `author` is the foreign key, which is called
 * `author_id` in JSON.
 */
export type RoleAt<Entity, Name, Resources, Hidden = HiddenIn<Entity, Resources>> = Name extends Hidden
  ? 'none'
  : Name extends keyof Entity
    ? Name extends `${infer Relation}Id`
      ? Role<PropertyAt<Entity, Relation>, Resources> extends 'one'
        ? 'none'
        : Role<Entity[Name], Resources>
      : Role<Entity[Name], Resources>
    : 'none'

/** Type of the property with a name; `never` if there is none. */
export type PropertyAt<Entity, Name> = Name extends keyof Entity ? Entity[Name] : never

/** Names of the properties with certain roles, without the hidden ones. */
export type NamesOf<Entity, Roles, Resources, Hidden = HiddenIn<Entity, Resources>> = {
  readonly [Name in keyof Entity & string]: RoleAt<Entity, Name, Resources, Hidden> extends Roles ? Name : never
}[keyof Entity & string]

/** Entity at the other end of a relation. */
export type Related<Value> = Keyed<Given<Value> extends readonly (infer Member)[] ? Given<Member> : Given<Value>>

/** Type of a foreign key to an entity. */
export type KeyOf<Entity> = Entity extends { readonly id: infer Id }
  ? Id extends bigint
    ? number | string
    : Id
  : string | number
