import { QueryFailedError } from 'typeorm'

/** A constraint of the database that a statement would have broken. */
export type Failure =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | { readonly kind: 'reference' }
  | { readonly kind: 'value' }

/**
 * Reads which constraint it was from SQLite's message, since its code for a foreign key depends on the action that refused.
 * What else a constraint or a trigger (`RAISE(ABORT, …)`) refuses, it refuses for the values.
 */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof QueryFailedError)) return undefined
  const { message, code } = error.driverError as Error & { readonly code?: string }
  if (!code?.startsWith('SQLITE_CONSTRAINT')) return undefined
  if (message === 'FOREIGN KEY constraint failed') return { kind: 'reference' }
  const [, list] = /^UNIQUE constraint failed: (.*)$/.exec(message) ?? []
  if (list === undefined) return { kind: 'value' }
  return { kind: 'unique', columns: list.split(', ').map((path) => path.slice(path.lastIndexOf('.') + 1)) }
}
