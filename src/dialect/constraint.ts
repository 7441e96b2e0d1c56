import type { EntityMetadata } from 'typeorm'

/**
 * The columns that the expression of a CHECK constraint contains; empty if the entity does not declare the constraint.
 */
export function checkedColumns({ checks, columns }: EntityMetadata, name: string | undefined): readonly string[] {
  const expression = checks.find((check) => check.name === name)?.expression ?? ''
  const names = new Set(expression.match(/[\p{L}_][\p{L}\d_$]*/gu))
  return columns.map((column) => column.databaseName).filter((column) => names.has(column))
}

/** The columns of a unique constraint or index; empty if the entity does not declare it. */
export function uniqueColumns({ uniques, indices }: EntityMetadata, name: string | undefined): readonly string[] {
  const constraint = uniques.find((unique) => unique.name === name) ?? indices.find((index) => index.name === name)
  return constraint?.columns.map((column) => column.databaseName) ?? []
}
