import type { StoredColumn } from '../schema/stored-column'
import type { Dialect } from './dialect'

/**
 * Predicate that a column equals one of the values. A single value is compared with `=`, which SQLite executes faster.
 */
export function inList(column: string, values: readonly string[]): string {
  return values.length === 1 ? `${column} = ${values[0]}` : `${column} IN (${values.join(', ')})`
}

/** Predicate that the columns together equal one of the rows. */
export type InRows = (columns: readonly string[], rows: readonly (readonly string[])[]) => string

export const inRows: InRows = (columns, rows) => `(${columns.join(', ')}) IN (${toRows(rows)})`

/**
 * Predicates of equality for a database whose collations may let different texts be equal. The columns of such texts are
 * compared twice: the first comparison can use an index, the second one is exact.
 * @param options.exact expression of a column that is compared character by character
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
      const exactColumns = stored.map((one, index) => {
        const column = columns[index] ?? ''
        return hasLooseCollation(one) ? exact(one, column) : column
      })
      return `(${equal} AND ${options.inRows(exactColumns, rows)})`
    },
  }
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
