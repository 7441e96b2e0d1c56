import { isComputed, type StoredColumn } from '../../schema/stored-column'
import { isNumeric } from '../../value/value-type'
import { isCursorValueOf } from '../cursor-value'
import type { Dialect } from '../dialect'

/** Whether a column has numbers, but no affinity that would have SQLite compare a text with them as a number. */
function isComputedNumber({ column, valueType }: StoredColumn): boolean {
  return isNumeric(valueType) && isComputed(column)
}

const asNumber = (sql: string): string => `CAST(${sql} AS NUMERIC)`

/**
 * Numbers that are computed may be texts, as those of `printf`. Integers and floats of a view stay as they are: mostly they are
 * columns of its tables, whose indexes can be used.
 */
export const sqliteCompared: Dialect['compared'] = (stored, column) => {
  const isDecimal = stored.valueType.name === 'decimal'
  return isComputedNumber(stored) && (isDecimal || stored.column.isVirtualProperty) ? asNumber(column) : column
}

/** Decimals, and integers beyond 2^53, are bound as text. */
export const sqliteOperand: Dialect['operand'] = (stored, placeholder) =>
  isComputedNumber(stored) ? asNumber(placeholder) : placeholder

/** Integers as text, since a double does not hold all of them: compared with a column of numbers, a text is one again. */
export const sqliteCursor: Dialect['cursorSql'] = (stored, column) => {
  const exact = `CASE WHEN typeof(${column}) = 'integer' THEN CAST(${column} AS TEXT) ELSE ${column} END`
  const isExact = !isComputed(stored.column) || isComputedNumber(stored)
  const compared = sqliteCompared(stored, column)
  return {
    read: isExact ? exact : column,
    sorted: compared,
    compared,
    bound: (placeholder) => sqliteOperand(stored, placeholder),
    accepts: (value) => isCursorValueOf(stored.valueType, value),
  }
}
