/**
 * Predicate that a column equals one of the values. A single value is compared with `=`, which SQLite executes faster.
 */
export function inList(column: string, values: readonly string[]): string {
  return values.length === 1 ? `${column} = ${values[0]}` : `${column} IN (${values.join(', ')})`
}

/** Predicate that the columns together equal one of the rows. */
export function inRows(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return `(${columns.join(', ')}) IN (${toRows(rows)})`
}

/** Rows in parentheses, separated by commas. */
export function toRows(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `(${row.join(', ')})`).join(', ')
}

/**
 * Pads a list to a length of 1, 2, 4, 8 … by repeating its last member. Lists of all lengths then need about ten
 * different statements, each of which is compiled, prepared and cached.
 */
export function padList<T>(values: readonly T[]): readonly T[] {
  const [last] = values.slice(-1)
  if (last === undefined) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return values.length === length ? values : [...values, ...Array<T>(length - values.length).fill(last)]
}
