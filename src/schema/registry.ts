import type { EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { Field } from './field'

/** One mounted entity: everything a request needs to know of it, compiled once. */
export interface Resource {
  /** The name in the path, `meta.model`. */
  readonly name: string
  readonly metadata: EntityMetadata
  readonly rule: Rule
  /** The field that the item path holds, always shown as `id`. */
  readonly key: Field
  /** What a record shows, in this order. */
  readonly record: readonly Field[]
  /** What is read from the database: the record, and behind it the owner where that is hidden. */
  readonly row: readonly Field[]
  /** The shown fields by every name that a filter or an ordering may use: `author` and `author_id`. */
  readonly fields: ReadonlyMap<string, Field>
  /** What a body may name: the shown fields, and hidden ones that can be written. */
  readonly inputs: ReadonlyMap<string, Field>
  /** Where a foreign key leads, if that is a resource too (D13). */
  readonly related: (field: Field) => Resource | undefined
  /** The foreign key to the user who owns a record. */
  readonly owner: Field | undefined
}

/** All that is mounted. */
export interface Registry {
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>
  /** Undefined on a site without users. */
  readonly accounts: AccountSource | undefined
}
