import type { EntityMetadata } from 'typeorm'
import type { Principal, Rule } from '../access/rule'
import type { ListFormat } from '../resource'
import type { AccountSource } from './account-source'
import type { ApiKeySource } from './api-key-source'
import type { Field } from './field'
import type { FieldPermissionFunction, PropertyPermissions } from './field-permissions'
import type { Lifecycle } from './lifecycle'
import type { OptionalName } from './list-parameters'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import type { ReadColumn, StoredColumn } from './stored-column'
import type { Validate } from './validation'

/** A mounted entity: everything about it that does not depend on who sends a request. It is built once, at mount. */
export interface Resource {
  /** Name in paths, and `meta.model` of lists. */
  readonly name: string
  /** Description for the OpenAPI document, written by the application. */
  readonly description: string | undefined
  readonly metadata: EntityMetadata
  readonly rule: Rule
  /** Whether records can be written: false with a read-only rule, and for a database view. */
  readonly writable: boolean
  /** The field in the path of an item, which records always show as `id`. */
  readonly key: Field
  /** The field permissions, in the order of the option `fields`. */
  readonly fieldPermissions: readonly PropertyPermissions[]
  /** The foreign key to the owner of a record; undefined without the option `ownerField`. */
  readonly owner: Field | undefined
  /** Function that returns which owner a principal is; undefined if owners are users. */
  readonly ownerOf: OwnerFunction | undefined
  /** The fields of API keys; undefined for an entity without `@ApiKeys`. */
  readonly apiKey: ApiKeyFields | undefined
  /** Whether PUT, PATCH and DELETE require `If-Match`. */
  readonly requireIfMatch: boolean
  /** Whether `meta.next` and `meta.previous` use page numbers or cursors. */
  readonly paging: 'pages' | 'keyset'
  /** The properties that `aggregate` and `by` may name; empty if lists do not have these parameters. */
  readonly aggregate: 'all' | readonly string[]
  /** Formats in which lists stream all matching records; empty if lists are pages of JSON only. */
  readonly formats: readonly ListFormat[]
  /** Maximum number of records that one request may write; 0 if requests write one record each. */
  readonly bulk: number
  /** The properties of the relations that `include` may name. */
  readonly includes: 'all' | readonly string[]
  /**
   * Validates an entity, as it would be stored, by its `class-validator` decorators; undefined if it has no decorators.
   */
  readonly validate: Validate | undefined
  /** The events of TypeORM that the entity has listeners or subscribers for. */
  readonly lifecycle: Lifecycle
}

/** Returns the key of the owner that a principal is; undefined for none. */
export interface OwnerFunction {
  (principal: Principal): string | number | bigint | undefined
  /** The function of the application, for descriptions. */
  readonly option: unknown
}

/** The fields of an API key that the service alone writes, and its user. */
export interface ApiKeyFields {
  readonly prefix: Field
  readonly hash: Field
  /** Columns of the foreign key to the user of a key. */
  readonly user: readonly ColumnMetadata[]
}

/** The names that filters on the records of an entity may use. */
export interface FilterNames {
  /** Name of the resource, for messages. */
  readonly name: string
  readonly lifecycle: Lifecycle
  /** The fields of a JSON record, in this order. */
  readonly outputFields: readonly Field[]
  /** The output fields, by all names that filters and orderings may use: a foreign key has two, `author` and `author_id`. */
  readonly fields: ReadonlyMap<string, Field>
  /** Names of the embedded entities that records show, which are prefixes of the names of their fields: `profile__address`. */
  readonly embedded: ReadonlySet<string>
  /** The relations without a foreign key on this side that filters may follow, by name. */
  readonly relations: ReadonlyMap<string, RelationMetadata>
  /** The names that filters through a relation may use; undefined if filters must not follow the relation. */
  readonly related: (relation: RelationMetadata) => FilterNames | undefined
  /** Which records a principal may see; undefined for all of them, and in the names of filter objects. */
  readonly rowScope: RowScope | undefined
  /**
   * Whether the access rule must permit the principal to read the resource when a request follows a relation to it.
   * False in the names of filter objects.
   */
  readonly isGuarded: boolean
}

/**
 * A resource as one principal may see and use it. After the access rule, all code uses the view: a field that is not in
 * the view does not exist for the request, in filters, orderings, records, bodies and errors. A view in SQL is
 * called a database view.
 */
export interface ResourceView extends Resource, FilterNames {
  /**
   * Identifies the view among all views of the mount, in keys of caches: two views of the same resource differ in their
   * fields, and so do their query shapes and statements.
   */
  readonly cacheKey: string
  /**
   * The columns that are read from the database, each once: those of `outputFields` and `owner`. The same as
   * `entityColumns` if the entity has load listeners.
   */
  readonly columns: readonly ReadColumn[]
  /**
   * The columns that an update reads: those of `columns`, then the hidden columns of foreign keys of several columns. If
   * listeners or validators receive entities, also the others that TypeORM selects by default.
   */
  readonly entityColumns: readonly ReadColumn[]
  /** The foreign keys, including hidden ones. */
  readonly references: readonly Field[]
  /** The fields that a body may name: the output fields, and hidden fields that can be inserted. */
  readonly writableFields: ReadonlyMap<string, Field>
  /** Names of the embedded entities that a body may have: hidden ones too. */
  readonly writableEmbedded: ReadonlySet<string>
  /**
   * The view that the same principal has of the resource to which a relation leads; undefined if the related entity is
   * not a resource or hides the relation (specification: Hidden fields).
   */
  readonly related: (relation: RelationMetadata) => ResourceView | undefined
  /** The optional parameters of the list, except `search`: those that are not names of fields. */
  readonly optionalParameters: ReadonlySet<OptionalName>
  /** The fields in which a search looks for words, as this principal may read them; none without the option `search`. */
  readonly searchFields: () => readonly SearchField[]
  /** The text search index for these fields; undefined if the search uses patterns. */
  readonly searchIndex: () => SearchIndex | undefined
  /** The relations whose records bodies may contain, by the names of their members (specification: Nested writes). */
  readonly nested: () => ReadonlyMap<string, NestedRelation>
  /** The functions that restrict writes (specification: Permissions). */
  readonly may: Readonly<Partial<Record<WriteAction, PolicyFunction>>>
  /** The function that returns values for new records (specification: Presets). */
  readonly preset: PolicyFunction | undefined
}

/** Relation whose records a body may contain (specification: Nested writes). */
export type NestedRelation = NestedList | NestedLinks

/** One-to-many relation: the body contains the related records. */
export interface NestedList {
  readonly type: 'list'
  /** Name of the member of the body: `lines`. */
  readonly name: string
  readonly relation: RelationMetadata
  /** The related resource. */
  readonly target: ResourceView
  /** The foreign key of the related records to their parent. */
  readonly foreignKey: Field
}

/** Many-to-many relation: the body contains the keys of the related records. */
export interface NestedLinks {
  readonly type: 'links'
  /** Name of the member of the body: `tag_ids`. */
  readonly name: string
  readonly relation: RelationMetadata
  /** The related resource. */
  readonly target: ResourceView
  readonly junction: Junction
}

/** Junction table of a many-to-many relation, seen from one of its sides. */
export interface Junction {
  readonly metadata: EntityMetadata
  /** The foreign key to the records of this side, in the order of the columns of their key. */
  readonly own: readonly StoredColumn[]
  /** The foreign key to the related records, in the order of the columns of their key. */
  readonly related: readonly StoredColumn[]
}

/** Field in which a search looks for words: one of the resource, or of a record that to-one relations lead to. */
export interface SearchField {
  /** Relations to follow, from the resource. */
  readonly through: readonly SearchStep[]
  readonly field: Field
}

/** Text search index of the database. */
export interface SearchIndex {
  readonly name: string
  /** The columns of the index, in the order of the option. */
  readonly columns: readonly StoredColumn[]
  /** Text search configuration, on PostgreSQL. */
  readonly configuration: string
}

/** To-one relation to follow, and what it leads to. */
export interface SearchStep {
  readonly relation: RelationMetadata
  readonly target: FilterNames
}

/** Write that the option `may` can restrict. Only `restore` is not permitted by default. */
export type WriteAction = 'create' | 'update' | 'delete' | 'restore'

/** States of a record in a write. */
export type WriteState = 'before' | 'after'

/**
 * Function in the option `scope`, `may` or `preset`. It returns a filter object for a principal, or whether all records
 * match; that of `preset` returns values.
 */
export interface PolicyFunction {
  /** Text for messages: `the scope of task`. */
  readonly title: string
  /** The value of the option: the function, or a constant result. */
  readonly option: unknown
  readonly call: (principal: Principal) => unknown
  /** The names that the result may use: all fields and relations, also hidden ones. */
  readonly names: FilterNames
  /** The states of a record in which the filter must match. With both, the function may return a filter for each. */
  readonly states: readonly WriteState[]
}

/** The field permissions of a mount (specification: Field permissions). */
export interface MountFieldPermissions {
  /** The functions that decide about permissions, each once. Empty if no permission depends on the principal. */
  readonly functions: readonly FieldPermissionFunction[]
  /**
   * Builds the views of the principals for whom the functions return these results.
   * @param results in the order of `functions`
   */
  readonly buildViews: (results: readonly boolean[]) => ResourceViews
}

/** Which records of a resource a principal may see (specification: Row scopes). */
export type RowScope = FilterScope | ThroughScope

/** The records that match the filter object that a function of the application returns. */
interface FilterScope {
  readonly type: 'filter'
  readonly filter: PolicyFunction
}

/** The records whose related record is visible. */
export interface ThroughScope {
  readonly type: 'through'
  readonly relation: RelationMetadata
  /** The related resource. */
  readonly target: () => ResourceView | undefined
}

/** The views that a principal has of all resources, by name. */
export type ResourceViews = ReadonlyMap<string, ResourceView>

/** All resources of a mount, and its user entity. */
export interface Registry {
  /** The resources as they look to a principal who has all field permissions. */
  readonly resources: ResourceViews
  readonly fieldPermissions: MountFieldPermissions
  /** Undefined without a user entity. */
  readonly accounts: AccountSource | undefined
  readonly apiKeys: readonly ApiKeySource[]
}
