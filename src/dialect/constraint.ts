import type { EntityMetadata } from 'typeorm'

/** The columns that the CHECK of this name speaks of, where the entity has it. */
export function checkedColumns({ checks, columns }: EntityMetadata, name: string | undefined): readonly string[] {
  const expression = checks.find((check) => check.name === name)?.expression ?? ''
  const names = new Set(expression.match(/[\p{L}_][\p{L}\d_$]*/gu))
  return columns.map((column) => column.databaseName).filter((column) => names.has(column))
}

/** The columns of the unique constraint or index of this name, where the entity has it. */
export function uniqueColumns({ uniques, indices }: EntityMetadata, name: string | undefined): readonly string[] {
  const constraint = uniques.find((unique) => unique.name === name) ?? indices.find((index) => index.name === name)
  return constraint?.columns.map((column) => column.databaseName) ?? []
}
