/** Whether a column is one of the values: as an equation where there is one alone, which SQLite does sooner. */
export function inList(column: string, values: readonly string[]): string {
  return values.length === 1 ? `${column} = ${values[0]}` : `${column} IN (${values.join(', ')})`
}
