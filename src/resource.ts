import type { PasswordHashing } from './access/passwords/password'
import type { Principal, Rule } from './access/rule'
import type { BeforeAndAfter, FilterOf, FilterScalar, NoSuchFilter, ScopeResult, UnknownFilter } from './filter-types'
import { sharedByCopies } from './shared-state'

/** Formats in which lists stream all matching records: JSON objects in lines, and comma-separated values. */
export const listFormats = ['ndjson', 'csv'] as const
export type ListFormat = (typeof listFormats)[number]

/** A property path: a property, or a property of the embedded entity that it contains. */
type PathOf<Property extends string> = Property | `${Property}.${string}`

/** The first property of a property path. */
type FirstOf<Path extends string> = Path extends `${infer First}.${string}` ? First : Path

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
  /**
   * What a soft-deleted record must match to be listed with `deleted=only`, and to be restored. It needs a
   * `@DeleteDateColumn`. Default: false.
   */
  readonly restore?: ScopeResult | ((principal: Principal) => ScopeResult)
}

/** Values of new records by the names of fields. */
export interface PresetValues {
  readonly [name: string]: FilterScalar
}

/** A search by a text search index of the database, instead of patterns. */
export interface IndexedSearch<Property extends string = string> {
  /** Text properties of the entity that the index contains, in the same order. */
  readonly fields: readonly PathOf<Property>[]
  /**
   * Name of the index: a GIN index on PostgreSQL, a FULLTEXT index on MySQL and MariaDB, an FTS5 table with external
   * content on SQLite. A principal who may not read all of the fields searches the others by patterns.
   */
  readonly index: string
  /** Text search configuration of the index, such as `english`, on PostgreSQL. Default: `simple`. */
  readonly configuration?: string
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
  /**
   * Whether lists have the parameters `aggregate` and `by`, which return groups of records with counts and sums. An array
   * of properties restricts them to these. Default: false.
   */
  readonly aggregate?: boolean | readonly PathOf<Property>[]
  /**
   * Formats in which lists stream all matching records, besides pages of JSON: `['csv']`. A client asks for one with the
   * parameter `format` or the header `Accept`. True for all of them. Default: false.
   */
  readonly formats?: boolean | readonly ListFormat[]
  /**
   * Whether one request may write several records: POST of an array or a file, PATCH and DELETE of all records that match
   * filters. A number is the maximum number of records of an array, and of PATCH and DELETE; true means 1,000. Default:
   * false.
   */
  readonly bulk?: boolean | number
  /**
   * Relations whose records the parameter `include` may add to responses: `['assignee', 'comments']`. Default: all
   * relations between resources.
   */
  readonly includes?: readonly PathOf<Property>[]
  /**
   * Relations to many whose records a body may contain; they are written in the transaction of the record. The member of a
   * one-to-many relation `lines` is `lines`, an array of records. That of a many-to-many relation `tags` is `tag_ids`, an
   * array of keys, or has the name of `ids`: `['lines', 'tags', { field: 'categories', ids: 'category_ids' }]`. Default: none.
   */
  readonly nested?: readonly (PathOf<Property> | NestedKeys<PathOf<Property>>)[]
  /**
   * Text properties in which the list parameter `search` looks for words: `['title', 'project.name']`. Paths may follow
   * relations to one record. `{ fields: ['title'], index: 'task_search' }` uses a text search index. Default: the list has
   * no such parameter.
   */
  readonly search?: readonly PathOf<Property>[] | IndexedSearch<Property>
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
   * `{ before: { status: 'draft' }, after: true }`. Default: every write that the access rule permits, but not to restore
   * soft-deleted records.
   */
  readonly may?: May
  /**
   * Returns values that every new record gets, whatever the body says: `(me) => ({ company: me.company })`. Names are
   * those of fields or of to-one relations.
   */
  readonly preset?: (principal: Principal) => Preset
  /**
   * The many-to-one property that refers to the owner of a record: only this user may change or delete it. If it refers
   * to another entity than the user, `{ field: 'member', is: (me) => me.membership }`.
   */
  readonly ownerField?: PathOf<Property> | OwnerOptions<PathOf<Property>>
}

/** Many-to-many relation whose related records a body sets, and the name of the member with their keys. */
export interface NestedKeys<Property extends string = string> {
  /** The many-to-many property. */
  readonly field: Property
  /** Name of the member of the body: `category_ids`. */
  readonly ids: string
}

/** Owner that is not the user: a record of another entity. */
export interface OwnerOptions<Property extends string = string> {
  /** The many-to-one property that refers to the owner of a record. */
  readonly field: Property
  /**
   * Returns the key of the owner that a principal is; null or undefined for none, who may not write. It may be called
   * several times per request, only for principals with an id, and must not be async.
   */
  readonly is: (principal: Principal) => string | number | bigint | null | undefined
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

/** Options of an entity with API keys: which of its properties have which role. */
export interface ApiKeyOptions<Property extends string = string> {
  /** The start of the key, which finds its record: a unique text column. Default: `prefix`. */
  readonly prefix?: Property
  /** The SHA-256 hash of the secret, a text column. It is never shown. Default: `hash`. */
  readonly hash?: Property
  /** The relation to the user whose key it is. Default: `user`. */
  readonly user?: Property
  /** When the key expires: a date-time column. A null means never. Default: `expires`, if there is such a property. */
  readonly expires?: Property
  /** When the key was last used: a date-time column. Default: `lastUsed`, if there is such a property. */
  readonly lastUsed?: Property
  /**
   * What the key permits: `{ task: ['read', 'create'] }`, in a column of JSON or text. A null means everything that the
   * user may do. Default: `permissions`, if there is such a property.
   */
  readonly permissions?: Property
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

/** The options of the decorators, by class. */
interface Declarations {
  readonly resources: Map<object, ResourceOptions>
  readonly userAccounts: WeakMap<object, UserAccountOptions>
  readonly apiKeyEntities: WeakMap<object, ApiKeyOptions>
}

// Without the `@UserAccount` of another copy, the mount of the application would show the hashes of passwords.
const { resources, userAccounts, apiKeyEntities } = sharedByCopies<Declarations>('declarations', () => ({
  resources: new Map(),
  userAccounts: new WeakMap(),
  apiKeyEntities: new WeakMap(),
}))

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
  checkDecoratorOptions(options, '@Resource', "{ name: 'note' }")
  return (entity) => {
    resources.set(entity, options)
  }
}

/** Declares an entity as the user entity, for rules that require credentials. */
export function UserAccount<const Property extends string = never>(
  options: UserAccountOptions<Property> = {},
): EntityDecorator<Property> {
  checkDecoratorOptions(options, '@UserAccount', "{ username: 'email' }")
  return (entity) => {
    userAccounts.set(entity, options)
  }
}

/** Declares an entity whose records are API keys, for the authenticator `apiKeys()`. */
export function ApiKeys<const Property extends string = never>(
  options: ApiKeyOptions<Property> = {},
): EntityDecorator<Property> {
  checkDecoratorOptions(options, '@ApiKeys', "{ user: 'owner' }")
  return (entity) => {
    apiKeyEntities.set(entity, options)
  }
}

/**
 * @param example options, for the message
 * @throws {TypeError} if the options are no object: a decorator without parentheses gets the class instead
 */
function checkDecoratorOptions(options: unknown, decorator: string, example: string): void {
  if (typeof options === 'function') {
    throw new TypeError(`${decorator} on ${options.name} must be called: write ${decorator}()`)
  }
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return
  throw new TypeError(
    `${decorator} must be called with an object of options, not ${JSON.stringify(options)}: write ${decorator}(${example})`,
  )
}

/** The classes with `@Resource`, also those that are no entities. */
export function decoratedClasses(): Iterable<object> {
  return resources.keys()
}

/** The options of `@Resource` on this class; undefined without the decorator. Subclasses do not inherit it. */
export function resourceOptions(entity: object): ResourceOptions | undefined {
  return resources.get(entity)
}

/** The options of `@UserAccount` on this class; undefined without the decorator. Subclasses do not inherit it. */
export function userAccountOptions(entity: object): UserAccountOptions | undefined {
  return userAccounts.get(entity)
}

/** The options of `@ApiKeys` on this class; undefined without the decorator. Subclasses do not inherit it. */
export function apiKeyOptions(entity: object): ApiKeyOptions | undefined {
  return apiKeyEntities.get(entity)
}
