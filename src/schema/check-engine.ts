import type { DataSource } from 'typeorm'
import type { Report } from '../errors'
import type { ResourceView } from './resource-view'

/** Storage engines of MySQL and MariaDB without transactions, in lower case. */
const enginesWithoutTransactions: ReadonlySet<string> = new Set([
  ...['myisam', 'aria', 'memory', 'heap', 'csv', 'archive', 'blackhole', 'merge', 'mrg_myisam', 'federated'],
])

/** Whether a storage engine of MySQL or MariaDB has no transactions. @param engine in any case */
export function lacksTransactions(engine: string): boolean {
  return enginesWithoutTransactions.has(engine.toLowerCase())
}

/**
 * Reports a resource that can be written and whose entity declares a storage engine without transactions. The row scope and
 * `may` are checked after a write and in its transaction: without one, a write that is refused would be stored.
 */
export function checkEngine(
  { metadata, writable }: Pick<ResourceView, 'metadata' | 'writable'>,
  { options }: DataSource,
  report: Report,
): void {
  // A child under single-table inheritance has the table of its parent.
  const { engine } = metadata.parentEntityMetadata ?? metadata
  const hasEngines = options.type === 'mysql' || options.type === 'mariadb'
  if (!hasEngines || !writable || engine === undefined || !lacksTransactions(engine)) return
  report(
    `the engine "${engine}" has no transactions, so that a write that is refused would be stored: use InnoDB, or the read-only rule`,
  )
}
