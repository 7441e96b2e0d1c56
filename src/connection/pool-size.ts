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

/** The number of connections in the pools of all replicas; 0 if there are none. */
export function replicaPoolSizeOf(dataSource: DataSource): number {
  const { replication } = dataSource.options as { readonly replication?: { readonly slaves: readonly unknown[] } }
  return poolSizeOf(dataSource) * (replication?.slaves.length ?? 0)
}

/**
 * Maximum number of connections that one client can use at the same time. One of the pool is kept for the others: otherwise, a
 * few slow statements of one client would delay them until these end. A pool of two has none to spare, because a transaction of
 * the client may need a second one.
 */
export function maxConnectionsOfClient(poolSize: number): number {
  return poolSize < 3 ? poolSize : poolSize - 1
}
