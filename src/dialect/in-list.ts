import type { StoredColumn } from '../schema/stored-column'
import type { Dialect } from './dialect'

// Columns, values and rows are SQL: escaped names, expressions and placeholders.

/**
 * Predicate that a column equals one of the values. A single value is compared with `=`, which SQLite executes faster.
 */
export function inList(column: string, values: readonly string[]): string {
  return values.length === 1 ? `${column} = ${values[0]}` : `${column} IN (${values.join(', ')})`
}

/** Row comparison: predicate that the tuple of columns equals one of the tuples of values. */
export type InRows = (columns: readonly string[], rows: readonly (readonly string[])[]) => string

export const inRows: InRows = (columns, rows) => `(${columns.join(', ')}) IN (${toRows(rows)})`

/**
 * Predicates of equality for a database whose collations may treat different texts as equal. A column with such a
 * collation is compared twice: the first comparison can use an index, the second one is exact.
 * @param options.exact returns an expression for a text column that makes comparisons exact, character by character
 */
export function exactEquality(options: {
  readonly hasLooseCollation: Dialect['hasLooseCollation']
  readonly exact: (stored: StoredColumn, column: string) => string
  readonly inRows: InRows
}): Pick<Dialect, 'equalsAny' | 'equalsAnyRow'> {
  const { hasLooseCollation, exact } = options
  return {
    equalsAny: (stored, column, values) => {
      const equal = inList(column, values)
      return hasLooseCollation(stored) ? `(${equal} AND ${inList(exact(stored, column), values)})` : equal
    },
    equalsAnyRow: (stored, columns, rows) => {
      const equal = options.inRows(columns, rows)
      if (!stored.some(hasLooseCollation)) return equal
      const exactColumns = stored.map((storedColumn, index) => {
        const column = columns[index] ?? ''
        return hasLooseCollation(storedColumn) ? exact(storedColumn, column) : column
      })
      return `(${equal} AND ${options.inRows(exactColumns, rows)})`
    },
  }
}

/** Tuples of values, each in parentheses, separated by commas. */
export function toRows(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `(${row.join(', ')})`).join(', ')
}

/**
 * Pads a list to a length of 1, 2, 4, 8 … by repeating its last member. The SQL depends on the length of the list: lists
 * of up to 500 members then need ten statements instead of 500, which are compiled, prepared and cached.
 */
export function padList<T>(values: readonly T[]): readonly T[] {
  const [last] = values.slice(-1)
  if (last === undefined) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return values.length === length ? values : [...values, ...Array<T>(length - values.length).fill(last)]
}
