import type { PasswordHashing } from './access/password'
import type { Principal, Rule } from './access/rule'
import type { OperatorName } from './value/value-type'

/** A property path: a property, or a property of the embedded entity that it contains. */
type PathOf<Property extends string> = Property | `${Property}.${string}`

/** The first property of a property path. */
type FirstOf<Path extends string> = Path extends `${infer First}.${string}` ? First : Path

/**
 * Filter of application code: an object whose keys are names of filters, or `or`, `and` and `not`. The compiler checks
 * the names in a function that is passed to `@Resource`. If it rejects a valid name, declare this type as the return type
 * of the function.
 */
export interface FilterObject {
  readonly [name: string]: FilterValue
}
/** Value, or member of a list, in a filter object. */
export type FilterScalar = string | number | bigint | boolean | Date | null
/** Value of a filter: null and an empty list match nothing. */
export type FilterValue = FilterScalar | readonly FilterScalar[] | FilterObject | readonly FilterObject[]

/**
 * What the functions of `scope` and `may` return: a filter object, an array of filter objects of which at least one must
 * match, true for all records, or false for none.
 */
export type ScopeResult = FilterObject | readonly FilterObject[] | boolean

/** Filters that a record must match before and after an update. Default of each: true. */
export interface BeforeAndAfter {
  readonly before?: ScopeResult
  readonly after?: ScopeResult
}

/** What the functions of `may` return: the records that may be written. */
export type MayResult = ScopeResult | BeforeAndAfter

/** Which writes a principal may do: each true, false, a filter, or a function that returns one of these. */
export interface MayOptions {
  /** What a new record must match. */
  readonly create?: ScopeResult | ((principal: Principal) => ScopeResult)
  /** What a record must match before PUT and PATCH, and after them. */
  readonly update?: MayResult | ((principal: Principal) => MayResult)
  /** What a record must match to be deleted. */
  readonly delete?: ScopeResult | ((principal: Principal) => ScopeResult)
}

/** Values of new records by the names of fields. */
export interface PresetValues {
  readonly [name: string]: FilterScalar
}

/** Who has a permission: everybody (true), nobody (false), or the principals for whom the function returns true. */
export type Permission = boolean | ((principal: Principal) => boolean)

/** Who may read and write a field. */
export interface FieldPermission {
  /** Who may read the field. For others the field does not exist, as if it were in `exclude`. Default: true. */
  readonly read?: Permission
  /** Who may write the field. For others it is read-only, as if it were in `readOnly`. Default: as `read`. */
  readonly write?: Permission
}

/** Options of a resource. Properties are named as in the entity. */
export interface ResourceOptions<
  Property extends string = string,
  Renamed extends string = Property,
  Scoped extends ScopeResult = ScopeResult,
  May extends MayOptions = MayOptions,
  Preset extends PresetValues = PresetValues,
  Permitted extends string = Property,
> {
  /** Name in paths. Default: the entity's name in lower case. */
  readonly name?: string
  /** Description of a record in the OpenAPI document. Default: the comment of `@Entity({ comment })`. */
  readonly description?: string
  /**
   * Properties that are hidden in records, filters, orderings and errors. They can still be written. Filters cannot
   * follow an excluded to-many relation. `profile` excludes an embedded entity, `profile.phone` one of its properties.
   */
  readonly exclude?: readonly PathOf<Property>[]
  /**
   * Who may read and write properties: `{ hourlyRate: { read: isManager, write: isOwner } }`. A property that the
   * principal may not read does not exist for this principal. The functions are called once per request; they must not be
   * async.
   */
  readonly fields?: { readonly [Name in Permitted]?: FieldPermission }
  /** JSON names of properties, for example to avoid a conflict: `{ id: 'number' }` where `id` is a part of the key. */
  readonly rename?: { readonly [Name in Renamed]?: string }
  /** Properties that records show and requests cannot write. */
  readonly readOnly?: readonly PathOf<Property>[]
  /**
   * Whether PUT, PATCH and DELETE require `If-Match` with the `ETag` of the record that the client has read (RFC 9110).
   * A request without this header gets 428. Default: false.
   */
  readonly requireIfMatch?: boolean
  /**
   * How the links of a list refer to other pages. `'pages'`: by page number (`page=2`). `'keyset'`: also by cursor
   * (`after=…`), so that every page costs the same. A client that sends `after=` always gets links with cursors.
   * Default: `'pages'`.
   */
  readonly paging?: 'pages' | 'keyset'
  /** Access rule. Default: the mount's `defaultAuth`; with `ownerField`, `userRule()`. */
  readonly auth?: Rule
  /**
   * Which records a principal may see; the others do not exist for this principal, in lists, items, filters, counts and
   * references. A function returns a filter (`{ company: principal.id }`), several filters of which one must match, true
   * or false. `{ through: 'project' }`: the records whose project is visible. Default: `'all'`.
   */
  readonly scope?: 'all' | { readonly through: PathOf<Property> } | ((principal: Principal) => Scoped)
  /**
   * Which writes a principal may do: each is true, false, a filter that the record must match before and after the
   * write, or a function that returns one of these. An update can have different ones:
   * `{ before: { status: 'draft' }, after: true }`. Default: every write that the access rule permits.
   */
  readonly may?: May
  /**
   * Returns values that every new record gets, whatever the body says: `(me) => ({ company: me.company })`. Names are
   * those of fields or of to-one relations.
   */
  readonly preset?: (principal: Principal) => Preset
  /** The many-to-one property that refers to the owner of a record: only this user may change or delete it. */
  readonly ownerField?: PathOf<Property>
}

/** Options of the user entity: which of its properties have which role, and how passwords are hashed. */
export interface UserAccountOptions<Property extends string = string> extends Partial<PasswordHashing> {
  /** The user name. Default: `username`. */
  readonly username?: Property
  /** The hash of the password. It is never shown; a password written through the API is hashed. Default: `password`. */
  readonly password?: Property
  /** Whether the user is an administrator (boolean or integer). Default: `admin`, if there is such a property. */
  readonly admin?: Property
  /** Whether the user may log in (boolean or integer). Default: `active`, if there is such a property. */
  readonly active?: Property
  /**
   * Further properties of the user that principals have: columns, and relations to one record, whose value is the foreign
   * key. Default: none.
   */
  readonly principal?: readonly Property[]
}

/** A class that has these properties. With it a misspelt name in the options is a compile error. */
export type EntityWith<Property extends string> = abstract new (...args: never[]) => { [Name in Property]: unknown }

/**
 * A class decorator that accepts only classes with these properties, which may be optional. The compile error names
 * missing ones.
 */
type EntityDecorator<Property extends string, Scoped = never> = <Instance extends object>(
  entity: (abstract new (
    ...args: never[]
  ) => Instance) &
    ([Exclude<Property, keyof Instance>] extends [never] ? unknown : EntityWith<Exclude<Property, keyof Instance>>) &
    ([UnknownFilter<Instance, Scoped>] extends [never] ? unknown : NoSuchFilter<UnknownFilter<Instance, Scoped>>),
  context?: ClassDecoratorContext,
) => void

/** The filters in a member of `may`. */
type FilterOf<Member> = Member extends (principal: never) => infer Result
  ? FilterOfResult<Result>
  : FilterOfResult<Member>
type FilterOfResult<Result> = Result extends BeforeAndAfter ? NonNullable<Result[keyof Result]> : Result

/** Marker for a name in a filter object that is no filter, so that the compiler's message contains the name. */
export interface NoSuchFilter<Name> {
  readonly [noSuchFilter]: Name
}
declare const noSuchFilter: unique symbol

/** The keys of filter objects that are not names of filters on an entity. */
type UnknownFilter<Entity, Filter> = Filter extends readonly (infer Member)[]
  ? UnknownFilter<Entity, Member>
  : Filter extends FilterScalar
    ? never
    : {
        [Name in keyof Filter]-?: Name extends 'or' | 'and' | 'not'
          ? UnknownFilter<Entity, Filter[Name]>
          : IsFilterName<Entity, Name> extends true
            ? never
            : Name
      }[keyof Filter]

/** Whether a name is a path of properties, with or without an operator. The type `string` is accepted. */
type IsFilterName<Entity, Name> = unknown extends Entity
  ? true
  : string extends Name
    ? true
    : Name extends `${infer First}__${infer Rest}`
      ? [PropertyAt<Entity, First>] extends [never]
        ? false
        : Rest extends OperatorName
          ? true
          : IsFilterName<RelatedIn<PropertyAt<Entity, First>>, Rest>
      : [PropertyAt<Entity, Name>] extends [never]
        ? false
        : true

/** Type of a property that a name refers to: a foreign key with `_id` refers to its relation, `id` to any key. */
type PropertyAt<Entity, Name> = Name extends keyof Entity
  ? Entity[Name]
  : Name extends `${infer Relation}_id`
    ? Relation extends keyof Entity
      ? Entity[Relation]
      : never
    : Name extends 'id'
      ? FilterScalar
      : never

/** Entity that a property leads to: the related one, or the embedded one. */
type RelatedIn<Value> =
  Value extends Promise<infer Inner>
    ? RelatedIn<Inner>
    : Value extends readonly (infer Member)[]
      ? RelatedIn<Member>
      : NonNullable<Value>

const resources = new WeakMap<object, ResourceOptions>()
const userAccounts = new WeakMap<object, UserAccountOptions>()

/**
 * Declares an entity as a REST resource, which `mountResources` then mounts:
 * `@Resource({ ownerField: 'user', readOnly: ['created'] })`. It works as a legacy decorator (`experimentalDecorators`)
 * and as a standard one.
 */
export function Resource<
  const Property extends string = never,
  const Renamed extends string = never,
  const Scoped extends ScopeResult = never,
  const May extends MayOptions = MayOptions,
  const Preset extends PresetValues = never,
  const Permitted extends string = never,
>(
  options: ResourceOptions<Property, Renamed, Scoped, May, Preset, Permitted> = {},
): EntityDecorator<
  Property | Renamed | FirstOf<Permitted>,
  [Renamed] extends [never] ? Scoped | FilterOf<May[keyof May]> | Preset : never
> {
  requireCalled(options, '@Resource')
  return (entity) => {
    resources.set(entity, options)
  }
}

/** Declares an entity as the user entity, for rules that require credentials. */
export function UserAccount<const Property extends string = never>(
  options: UserAccountOptions<Property> = {},
): EntityDecorator<Property> {
  requireCalled(options, '@UserAccount')
  return (entity) => {
    userAccounts.set(entity, options)
  }
}

/** @throws {TypeError} if a decorator without parentheses gets the class instead of its options */
function requireCalled(options: object, decorator: string): void {
  if (typeof options !== 'function') return
  const { name } = options as { readonly name: string }
  throw new TypeError(`${decorator} on ${name} must be called: write ${decorator}()`)
}

/** The options of `@Resource` on this class; undefined without the decorator. Subclasses do not inherit it. */
export function resourceOptions(entity: object): ResourceOptions | undefined {
  return resources.get(entity)
}

/** The options of `@UserAccount` on this class; undefined without the decorator. Subclasses do not inherit it. */
export function userAccountOptions(entity: object): UserAccountOptions | undefined {
  return userAccounts.get(entity)
}
