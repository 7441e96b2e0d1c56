import type { DataSource } from 'typeorm'

/** Number of connections of a pool if no option sets it: the default of pg and mysql2. */
const defaultPoolSize = 10

/** The number of connections in the pool, from the options of TypeORM and of the driver, which take precedence. */
export function poolSizeOf({ options }: DataSource): number {
  const { poolSize = defaultPoolSize, extra } = options as {
    readonly poolSize?: number
    readonly extra?: { readonly max?: number; readonly connectionLimit?: number }
  }
  return Number(extra?.max ?? extra?.connectionLimit ?? poolSize)
}

/** The number of replicas. Each has a pool of its own. */
export function replicaCountOf({ options }: DataSource): number {
  const { replication } = options as { readonly replication?: { readonly slaves: readonly unknown[] } }
  return replication?.slaves.length ?? 0
}

/**
 * Maximum number of connections that one client can use at the same time. One of the pool is kept for the others: otherwise, a
 * few slow statements of one client would delay them until these end. A pool of two has none to spare, because a transaction of
 * the client may need a second one: the size of the pool is the only limit.
 */
export function maxConnectionsOfClient(poolSize: number): number {
  return poolSize < 3 ? Number.POSITIVE_INFINITY : poolSize - 1
}
