import { type DataSource, type EntityMetadata, QueryFailedError } from 'typeorm'
import { dialectOf } from './dialect'

/** A constraint of the database that a statement would have broken. */
export type Failure =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | { readonly kind: 'reference' }
  | { readonly kind: 'value'; readonly columns: readonly string[] }

/** An error as the database's driver throws it. */
export interface DriverError extends Error {
  readonly code?: string
  readonly errno?: number
  readonly column?: string
  readonly constraint?: string
  readonly detail?: string
  /** Where in the statement it is. */
  readonly position?: string
}

/** Which constraint an error speaks of; undefined for one that speaks of none. */
export function failureOf(error: unknown, dataSource: DataSource, metadata: EntityMetadata): Failure | undefined {
  if (!(error instanceof QueryFailedError)) return undefined
  return dialectOf(dataSource).failureOf(error.driverError as DriverError, metadata)
}

/** The columns that the CHECK of this name speaks of, where the entity has it. */
export function checkedColumns({ checks, columns }: EntityMetadata, name: string | undefined): readonly string[] {
  const expression = checks.find((check) => check.name === name)?.expression ?? ''
  return columns.map((column) => column.databaseName).filter((column) => expression.includes(column))
}

/** The columns of the unique constraint or index of this name, where the entity has it. */
export function uniqueColumns({ uniques, indices }: EntityMetadata, name: string | undefined): readonly string[] {
  const constraint = uniques.find((unique) => unique.name === name) ?? indices.find((index) => index.name === name)
  return constraint?.columns.map((column) => column.databaseName) ?? []
}
