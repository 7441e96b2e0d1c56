import type { Dialect } from '../dialect/dialect'
import type { StoredColumn } from '../schema/stored-column'

/**
 * Predicate that columns have the values of one of several keys.
 * @param names SQL of each column
 * @param rows operands of each key, by column
 */
export function equalsAnyKey(
  { equalsAny, equalsAnyRow }: Dialect,
  columns: readonly StoredColumn[],
  names: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const [column, ...others] = columns
  const [name = ''] = names
  return column !== undefined && others.length === 0
    ? equalsAny(column, name, rows.flat())
    : equalsAnyRow(columns, names, rows)
}
