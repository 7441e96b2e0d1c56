import { maxCursorTextLength } from '../../request/cursor'
import { isComputed } from '../../schema/metadata'
import { exactDigits, isComputedOrGenerated } from '../../schema/sqlite-types'
import type { StoredColumn } from '../../schema/stored-column'
import { isNumeric } from '../../value/value-type'
import { isCursorValueOf } from '../cursor-value'
import type { Dialect } from '../dialect'

/**
 * Whether a column is a computed number. It has no type affinity, so SQLite does not convert a text to a number to
 * compare it.
 */
function isComputedNumber({ column, valueType }: StoredColumn): boolean {
  return isNumeric(valueType) && isComputed(column)
}

/** Size above which a text exceeds `maxCursorTextLength` in each encoding of SQLite, in bytes. */
const maxCursorTextBytes = 4 * maxCursorTextLength

const asNumber = (sql: string): string => `CAST(${sql} AS NUMERIC)`

/**
 * Rounds a computed decimal to the digits that are shown: the double 0.1 + 0.2 is shown as 0.3, but is not equal to it. PRINTF
 * would write null as 0, so null is replaced by infinity and back.
 */
const asDecimal = (sql: string): string =>
  asNumber(`NULLIF(PRINTF('%.${exactDigits}g', COALESCE(${sql}, 9e999)), 'Inf')`)

/** Whether a column is a decimal that the database computes. A generated column stores the computed double. */
const isComputedDecimal = ({ column, valueType }: StoredColumn): boolean =>
  valueType.name === 'decimal' && isComputedOrGenerated(column)

/**
 * Casts computed numbers, because their values may be texts, such as those of `printf`. Integers and floats of a view
 * are not cast: they usually are columns of its tables, whose indexes could not be used with a cast.
 */
export const sqliteCompared: Dialect['comparisonSql'] = (stored, column) => {
  if (isComputedDecimal(stored)) return asDecimal(column)
  return isComputedNumber(stored) && stored.column.isVirtualProperty ? asNumber(column) : column
}

/** Casts operands of computed numbers, because decimals and integers beyond 2^53 are bound as text. */
export const sqliteOperand: Dialect['operandSql'] = (stored, placeholder) =>
  isComputedNumber(stored) || isComputedDecimal(stored) ? asNumber(placeholder) : placeholder

/**
 * Reads integers as text, because a double cannot represent all of them. In a comparison with a numeric column SQLite
 * converts the text back to a number. Texts that are too long for a cursor are read as an empty BLOB, which no cursor
 * can hold: `substr` would end at a NUL character.
 */
export const sqliteCursor: Dialect['cursorSql'] = (stored, column) => {
  const isTooLong =
    stored.valueType.name === 'text' ? `WHEN octet_length(${column}) > ${maxCursorTextBytes} THEN x'' ` : ''
  const compared = sqliteCompared(stored, column)
  const shown = isComputedDecimal(stored) ? compared : column
  const exact = `CASE ${isTooLong}WHEN typeof(${shown}) = 'integer' THEN CAST(${shown} AS TEXT) ELSE ${shown} END`
  const isExact = !isComputed(stored.column) || isComputedNumber(stored)
  return {
    read: isExact ? exact : column,
    sorted: compared,
    compared,
    operand: (placeholder) => sqliteOperand(stored, placeholder),
    accepts: (value) => isCursorValueOf(stored.valueType, value),
  }
}
