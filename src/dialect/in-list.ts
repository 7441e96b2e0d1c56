/** Whether a column is one of the values: as an equation where there is one alone, which SQLite does sooner. */
export function inList(column: string, values: readonly string[]): string {
  return values.length === 1 ? `${column} = ${values[0]}` : `${column} IN (${values.join(', ')})`
}

/** Whether the columns are, together, one of the rows. */
export function inRows(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return `(${columns.join(', ')}) IN (${toRows(rows)})`
}

/** Rows in parentheses, separated by commas. */
export function toRows(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `(${row.join(', ')})`).join(', ')
}

/**
 * Repeats the last member of a list until there are 1, 2, 4, 8 … of them: lists of all lengths have ten texts, each of which is compiled,
 * prepared and remembered.
 */
export function padList<T>(values: readonly T[]): readonly T[] {
  const [last] = values.slice(-1)
  if (last === undefined) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return values.length === length ? values : [...values, ...Array<T>(length - values.length).fill(last)]
}
