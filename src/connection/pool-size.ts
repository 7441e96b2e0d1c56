import type { DataSource } from 'typeorm'

/** Number of connections of a pool if no option sets it: the default of pg and mysql2. */
const defaultPoolSize = 10

/** The number of connections in the pool, from the options of TypeORM and of the driver, which take precedence. */
export function poolSizeOf({ options }: DataSource): number {
  const { poolSize, extra } = options as {
    readonly poolSize?: number
    readonly extra?: { readonly max?: number; readonly connectionLimit?: number }
  }
  // mysql2 uses its default for a text that is not a number, and pg uses its default for 0.
  return Number(extra?.max ?? extra?.connectionLimit ?? poolSize) || defaultPoolSize
}

/** The number of replicas. Each has a pool of its own. */
export function replicaCountOf({ options }: DataSource): number {
  const { replication } = options as { readonly replication?: { readonly slaves: readonly unknown[] } }
  return replication?.slaves.length ?? 0
}
