/**
 * An entity some of whose properties are not shown, as `@Resource({ exclude })` says; they can still be written:
 * `createClient<{ user: Excluding<User, 'password' | 'email'> }>(…)`.
 */
export interface Excluding<Entity, Names extends keyof Entity> {
  readonly [excluded]: { readonly entity: Entity; readonly names: Names }
}
declare const excluded: unique symbol

/** The class of a resource, whatever it hides. */
type ClassOf<Resource> = Resource extends { readonly [excluded]: { readonly entity: infer Entity } } ? Entity : Resource

/** An entity as records show it: with an `id`, whatever its key is called. */
type Keyed<Entity> = 'id' extends keyof Entity ? Entity : Entity & { readonly id: string | number }
export type EntityOf<Resource> = Keyed<ClassOf<Resource>>

/** What it hides. */
export type HiddenBy<Resource> = Resource extends { readonly [excluded]: { readonly names: infer Names } }
  ? Names
  : never

/** What the resource of an entity hides, where it is one of these: holds for joins into it too (specification: Hidden fields). */
export type HiddenIn<Entity, Resources> = HiddenOf<Entity, Hiding<Resources>>
/** Those of the resources that hide something. The compiler keeps what a conditional type was, but not what was looked up. */
type Hiding<Resources> = Resources extends unknown
  ? Extract<Resources[keyof Resources], { readonly [excluded]: unknown }>
  : never
type HiddenOf<Entity, Resource> = Resource extends { readonly [excluded]: { readonly entity: infer Other } }
  ? [Entity, Keyed<Other>] extends [Keyed<Other>, Entity]
    ? HiddenBy<Resource>
    : never
  : never

/** Classes of values that are no records. */
export type Scalar = string | number | bigint | boolean | Date | null | undefined
export type Callable = (...given: never[]) => unknown
type Binary = ArrayBufferLike | ArrayBufferView

/** A lazy relation is a promise. */
type Loaded<Value> = Value extends Promise<infer Inner> ? Inner : Value
/** A value that is there. */
export type Given<Value> = NonNullable<Loaded<Value>>
/** Null where a property may be so. One that may be left out is null in a record. */
export type NullOf<Value> = Loaded<Value> extends infer Inner ? (Inner extends null | undefined ? null : never) : never

/** What other records are known by. Embedded entities have no `id`. */
interface Identified {
  readonly id: unknown
}
/** Entities whose key has another name: that they are resources tells them from embedded ones. */
type Keyless<Resources> = Resources extends unknown
  ? {
      readonly [Name in keyof Resources]: ClassOf<Resources[Name]> extends Identified ? never : ClassOf<Resources[Name]>
    }[keyof Resources]
  : never

/** What a property is: a column or an embedded entity, a relation to one or to many records, or nothing that a client can see. */
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

/** What the property of a name is, where there is one. `authorId` beside `author` is the foreign key, known as `author_id`. */
export type RoleAt<Entity, Name, Resources, Hidden = HiddenIn<Entity, Resources>> = Name extends Hidden
  ? 'none'
  : Name extends keyof Entity
    ? Name extends `${infer Relation}Id`
      ? Role<PropertyAt<Entity, Relation>, Resources> extends 'one'
        ? 'none'
        : Role<Entity[Name], Resources>
      : Role<Entity[Name], Resources>
    : 'none'

/** Never where there is none. */
export type PropertyAt<Entity, Name> = Name extends keyof Entity ? Entity[Name] : never

/** The names of the properties of some roles, but for those that are hidden. */
export type NamesOf<Entity, Wanted, Resources, Hidden = HiddenIn<Entity, Resources>> = {
  readonly [Name in keyof Entity & string]: RoleAt<Entity, Name, Resources, Hidden> extends Wanted ? Name : never
}[keyof Entity & string]

/** The records at the other end of a relation. */
export type Related<Value> = Keyed<Given<Value> extends readonly (infer Member)[] ? Given<Member> : Given<Value>>

/** What a foreign key to such a record holds. */
export type KeyOf<Entity> = Entity extends { readonly id: infer Id }
  ? Id extends bigint
    ? number | string
    : Id
  : string | number
