import type { EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { Field } from './field'
import type { RelationMetadata } from './metadata'
import type { ReadColumn } from './stored-column'
import type { Validate } from './validation'

/** One mounted entity: everything a request needs to know of it, compiled once. */
export interface Resource {
  /** The name in the path, `meta.model`. */
  readonly name: string
  readonly metadata: EntityMetadata
  readonly rule: Rule
  /** Whether records can be written at all. */
  readonly writable: boolean
  /** The field that the item path holds, always shown as `id`. */
  readonly key: Field
  /** What a record shows, in this order. */
  readonly record: readonly Field[]
  /** What is read from the database, each column once: those of the record, of a hidden owner, and what listeners expect. */
  readonly row: readonly ReadColumn[]
  /** The shown fields by every name that a filter or an ordering may use: `author` and `author_id`. */
  readonly fields: ReadonlyMap<string, Field>
  /** What a body may name: the shown fields, and hidden ones that can be written. */
  readonly inputs: ReadonlyMap<string, Field>
  /** Names of the embedded entities, which part the names of their fields: `profile`, `profile__address`. */
  readonly embedded: ReadonlySet<string>
  /** The relations that a filter may follow, by every name it may use. */
  readonly relations: ReadonlyMap<string, RelationMetadata>
  /** Where a relation leads, if that is a resource too (D13). */
  readonly related: (relation: RelationMetadata) => Resource | undefined
  /** The foreign key to the user who owns a record. */
  readonly owner: Field | undefined
  /** Checks an entity as it would be stored by its `class-validator` decorators; undefined without any. */
  readonly validate: Validate | undefined
  /** Which of TypeORM's events somebody listens to. */
  readonly lifecycle: Lifecycle
}

/** Whether an entity has listeners or subscribers. */
export interface Lifecycle {
  /** For what is read: `@AfterLoad`. */
  readonly load: boolean
  /** For what is inserted, updated or removed. */
  readonly write: boolean
  /** Before an INSERT, so that what a request lacks may be filled in. */
  readonly beforeInsert: boolean
}

/** All that is mounted. */
export interface Registry {
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>
  /** Undefined on a site without users. */
  readonly accounts: AccountSource | undefined
}
