import type { DataSource, EntityMetadata } from 'typeorm'
import type { Dialect } from '../dialect/dialect'

/** Table of an entity into which rows are inserted. A `Store` is one. */
export interface InsertTarget {
  readonly dataSource: DataSource
  readonly dialect: Dialect
  readonly view: {
    readonly metadata: EntityMetadata
    /** Identifies the table in keys of caches. */
    readonly cacheKey: string
  }
}
