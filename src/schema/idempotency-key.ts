import type { DataSource, EntityMetadata, EntitySchema } from 'typeorm'
import { sharedByCopies } from '../shared-state'

/** A response as it is stored, without the headers that every response gets. */
export interface StoredResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string
  /**
   * For a batch, the records that the principal could not see any more at its end, because a later operation has deleted
   * them, for example. Each has the index of its operation, and its own index in the response to this operation.
   */
  readonly unseen?: readonly (readonly [operation: number, record: number])[] | undefined
}

/** The class of the entity. A data source with the entity is recognised by the class that the copies of this package share. */
const target = class IdempotencyKey {
  /** Digest of the principal and the key. No collation of a database makes two of them equal. */
  id!: string
  /** Digest of the request, with the key as its secret, because a body may contain a password. */
  fingerprint!: string
  /** Null until the write is done, which other transactions do not see. */
  response!: StoredResponse | null
  /** When the key may be used again: milliseconds since 1970. */
  expires!: string
}

/** A record of the entity {@link IdempotencyKey}. */
export type IdempotencyKey = InstanceType<typeof target>

/**
 * Entity of the responses to writes with the header `Idempotency-Key` (specification: Idempotency keys). Add it to the
 * `entities` of the data source to enable this header. It cannot be a resource.
 *
 * It is an object like those of TypeORM's class `EntitySchema`, which TypeORM recognises by its symbol, because the
 * application may have another copy of TypeORM. Decorators would not do: the first of two copies that is used creates the
 * storage of their arguments for both, and that of TypeORM 1 does not work with TypeORM 0.3.
 */
export const IdempotencyKey = sharedByCopies<EntitySchema<IdempotencyKey>>('idempotencyKey', () => ({
  '@instanceof': Symbol.for('EntitySchema'),
  options: {
    name: target.name,
    target,
    tableName: 'idempotency_key',
    columns: {
      id: { type: 'varchar', length: 64, primary: true },
      fingerprint: { type: 'varchar', length: 64 },
      // The type `text` has only 65,535 bytes on MySQL, and the larger types of text do not exist on other databases.
      response: { type: 'json', nullable: true },
      // A date-time without a time zone would depend on the time zone of the process.
      expires: { type: 'bigint' },
    },
    indices: [{ columns: ['expires'] }],
  },
}))

/** The metadata of {@link IdempotencyKey}; undefined if the data source does not have it. */
export function idempotencyMetadata({ entityMetadatas }: DataSource): EntityMetadata | undefined {
  return entityMetadatas.find(({ target }) => target === IdempotencyKey.options.target)
}
