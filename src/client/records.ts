import type { Callable, EntityOf, Given, KeyOf, NamesOf, NullOf, Scalar } from './entity.ts'

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
type RecordIn<Entity, Resources> = Flat<
  { readonly [Name in NamesOf<Entity, 'field', Resources>]: Shown<Entity[Name]> } & {
    readonly [Name in NamesOf<Entity, 'one', Resources> as `${Name}_id`]: ReferenceOf<Entity[Name]>
  }
>

/** What a create or an update gives: what is excluded can be written. The service says what is missing. */
export type ValuesOf<Resource, Resources = { readonly resource: Resource }> = ValuesIn<EntityOf<Resource>, Resources>
type ValuesIn<Entity, Resources> = Flat<
  { readonly [Name in NamesOf<Entity, 'field', Resources, never>]?: Sent<Entity[Name]> } & {
    readonly [Name in NamesOf<Entity, 'one', Resources, never> as `${Name}_id`]?: ReferenceOf<Entity[Name]>
  }
>

/** As one object, which an editor shows better than parts of one. */
type Flat<Value> = { [Name in keyof Value]: Value[Name] }
