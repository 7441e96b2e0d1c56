import type { EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { Field } from './field'
import type { Lifecycle } from './lifecycle'
import type { OptionalName } from './list-parameters'
import type { RelationMetadata } from './metadata'
import type { ReadColumn } from './stored-column'
import type { Validate } from './validation'

/** One mounted entity: everything a request needs to know of it, compiled once. */
export interface Resource {
  /** The name in the path, `meta.model`. */
  readonly name: string
  /** What a record is, in the application's own words. */
  readonly description: string | undefined
  readonly metadata: EntityMetadata
  readonly rule: Rule
  /** Whether records can be written at all. */
  readonly writable: boolean
  /** The field that the item path holds, always shown as `id`. */
  readonly key: Field
  /** What a record shows, in this order. */
  readonly outputFields: readonly Field[]
  /** What is read from the database, each column once: those of the record, of a hidden owner; all where `@AfterLoad` sees them. */
  readonly columns: readonly ReadColumn[]
  /** What listeners of writes and validators expect: the same, and behind it the other columns that TypeORM selects. */
  readonly entityColumns: readonly ReadColumn[]
  /** The shown fields by every name that a filter or an ordering may use: `author` and `author_id`. */
  readonly fields: ReadonlyMap<string, Field>
  /** What a body may name: the shown fields, and hidden ones that can be written. */
  readonly writableFields: ReadonlyMap<string, Field>
  /** Names of the embedded entities, which part the names of their fields: `profile`, `profile__address`. */
  readonly embedded: ReadonlySet<string>
  /** The relations to other records that a filter may follow, besides foreign keys, by name. */
  readonly relations: ReadonlyMap<string, RelationMetadata>
  /** Where a relation leads, if that is a resource too (specification: Hidden fields), and does not hide the relation. */
  readonly related: (relation: RelationMetadata) => Resource | undefined
  /** The foreign key to the user who owns a record. */
  readonly owner: Field | undefined
  /** Whether a write must say which state of a record it means. */
  readonly requireIfMatch: boolean
  /** How the links of a list lead to its other pages. */
  readonly paging: 'pages' | 'keyset'
  /** Which optional parameters its lists have: not those that are names of fields. */
  readonly optionalParameters: ReadonlySet<OptionalName>
  /** Checks an entity as it would be stored by its `class-validator` decorators; undefined without any. */
  readonly validate: Validate | undefined
  /** Which of TypeORM's events somebody listens to. */
  readonly lifecycle: Lifecycle
}

/** All that is mounted. */
export interface Registry {
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>
  /** Undefined on a site without users. */
  readonly accounts: AccountSource | undefined
}
