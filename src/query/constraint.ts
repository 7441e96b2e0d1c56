import { type EntityMetadata, QueryFailedError } from 'typeorm'

/** A constraint of the database that a statement would have broken. */
export type Failure =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | { readonly kind: 'reference' }
  | { readonly kind: 'value'; readonly columns: readonly string[] }

/**
 * Reads which constraint it was from SQLite's message, since its code for a foreign key depends on the action that refused.
 * What else a constraint or a trigger (`RAISE(ABORT, …)`) refuses, it refuses for the values.
 */
export function failureOf(error: unknown, metadata: EntityMetadata): Failure | undefined {
  if (!(error instanceof QueryFailedError)) return undefined
  const { message, code } = error.driverError as Error & { readonly code?: string }
  if (!code?.startsWith('SQLITE_CONSTRAINT')) return undefined
  if (message === 'FOREIGN KEY constraint failed') return { kind: 'reference' }
  const [, constraint, list = ''] = /^(UNIQUE|NOT NULL|CHECK) constraint failed: (.*)$/.exec(message) ?? []
  if (constraint === 'CHECK') return { kind: 'value', columns: checkedColumns(metadata, list) }
  const columns = list.split(', ').map((path) => path.slice(path.lastIndexOf('.') + 1))
  if (constraint === 'UNIQUE') return { kind: 'unique', columns }
  return { kind: 'value', columns: constraint === undefined ? [] : columns }
}

/** The columns that the CHECK of this name speaks of, where the entity has it. */
function checkedColumns({ checks, columns }: EntityMetadata, name: string): readonly string[] {
  const expression = checks.find((check) => check.name === name)?.expression ?? ''
  return columns.map((column) => column.databaseName).filter((column) => expression.includes(column))
}
