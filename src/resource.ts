import type { PasswordHashing } from './access/password'
import type { Rule } from './access/rule'

/** A property, or one in the embedded entity that it holds. */
type PathOf<Property extends string> = Property | `${Property}.${string}`

/** What one resource hides, refuses and asks for. Names are those of the entity's properties. */
export interface ResourceOptions<Property extends string = string, Renamed extends string = Property> {
  /** The name in the path. Default: the entity's name in lower case. */
  readonly name?: string
  /** What a record is, for those who read the API's description. Default: the comment of `@Entity({ comment })`. */
  readonly description?: string
  /**
   * Properties that no answer, filter, ordering or error of this service shows. They can still be written. A relation to many
   * that is named cannot be followed by filters. Of an embedded entity all, as `profile`, or some, as `profile.phone`.
   */
  readonly exclude?: readonly PathOf<Property>[]
  /** JSON names of properties whose own names clash: `{ id: 'number' }` where `id` is a part of the key. */
  readonly rename?: { readonly [Name in Renamed]?: string }
  /** Properties that are shown but cannot be written. */
  readonly readOnly?: readonly PathOf<Property>[]
  /**
   * Whether PUT, PATCH and DELETE must carry `If-Match` with the `ETag` of the record that the client has read (RFC 9110); without it
   * they are 428. Default: false.
   */
  readonly requireIfMatch?: boolean
  /**
   * How the links of a list lead to its other pages: by their number, as `page=2`, or, with `'keyset'`, by a token besides, as
   * `after=…`, with which a page costs the same however deep it is. A client that sends `after=` gets such links anyway. Default:
   * `'pages'`.
   */
  readonly paging?: 'pages' | 'keyset'
  /** Who may do what. Default: the mount's `defaultAuth`; with `ownerField`, `userRule()`. */
  readonly auth?: Rule
  /** The many-to-one property that refers to the user who owns a record: nobody else may change or delete it. */
  readonly ownerField?: PathOf<Property>
}

/** Which properties of the user entity say who a user is. */
export interface UserAccountOptions<Property extends string = string> extends Partial<PasswordHashing> {
  /** Default: `username`. */
  readonly username?: Property
  /** Holds the hash. Never shown; written through the API it is hashed. Default: `password`. */
  readonly password?: Property
  /** A boolean: whether the user is an administrator. Default: `admin`, where such a property exists. */
  readonly admin?: Property
  /** A boolean: whether the user may log in. Default: `active`, where such a property exists. */
  readonly active?: Property
}

/** A class that has these properties: what makes a misspelt name a compile error. */
export type EntityWith<Property extends string> = abstract new (...args: never[]) => { [Name in Property]: unknown }

/** Takes a class that has these properties, optional ones too; of others it says which. */
type EntityDecorator<Property extends string> = <Instance extends object>(
  entity: (abstract new (
    ...args: never[]
  ) => Instance) &
    ([Exclude<Property, keyof Instance>] extends [never] ? unknown : EntityWith<Exclude<Property, keyof Instance>>),
  context?: ClassDecoratorContext,
) => void

const resources = new WeakMap<object, ResourceOptions>()
const userAccounts = new WeakMap<object, UserAccountOptions>()

/**
 * Makes an entity a REST resource once `mountResources` is called: `@Resource({ ownerField: 'user', readOnly: ['created'] })`.
 * Works as a legacy and as a standard decorator.
 */
export function Resource<const Property extends string = never, const Renamed extends string = never>(
  options: ResourceOptions<Property, Renamed> = {},
): EntityDecorator<Property | Renamed> {
  return (entity) => {
    resources.set(entity, options)
  }
}

/** Says that an entity holds the site's users, for the rules that ask for credentials. */
export function UserAccount<const Property extends string = never>(
  options: UserAccountOptions<Property> = {},
): EntityDecorator<Property> {
  return (entity) => {
    userAccounts.set(entity, options)
  }
}

/** What `@Resource` said of this entity; a subclass says it for itself. */
export function resourceOptions(entity: object): ResourceOptions | undefined {
  return resources.get(entity)
}

/** What `@UserAccount` said of this entity. */
export function userAccountOptions(entity: object): UserAccountOptions | undefined {
  return userAccounts.get(entity)
}
