import { QueryFailedError } from 'typeorm'

/** A constraint of the database that a statement would have broken. */
export type Failure =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | { readonly kind: 'reference' }
  | { readonly kind: 'value' }

const kinds: readonly (readonly [RegExp, Failure['kind']])[] = [
  [/^UNIQUE constraint failed/, 'unique'],
  [/^FOREIGN KEY constraint failed/, 'reference'],
  [/^(NOT NULL|CHECK) constraint failed|^cannot store /, 'value'],
]

/** Reads SQLite's message, since its code for a foreign key depends on the action that refused. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof QueryFailedError)) return undefined
  const { message } = error.driverError as Error
  const [, kind] = kinds.find(([pattern]) => pattern.test(message)) ?? []
  if (kind !== 'unique') return kind && { kind }
  const [, list = ''] = message.split(': ')
  return { kind, columns: list.split(', ').map((path) => path.slice(path.lastIndexOf('.') + 1)) }
}
