import type { CursorValue } from '../../request/cursor'
import { isComputed, type StoredColumn } from '../../schema/stored-column'
import { isNumeric } from '../../value/value-type'
import { isCursorValueOf } from '../cursor-value'
import type { Dialect } from '../dialect'

const longTexts: ReadonlySet<string> = new Set(['text', 'mediumtext', 'longtext'])
/** In characters. */
const sortedLength = 255

const castAs =
  (type: string) =>
  (placeholder: string): string =>
    `CAST(${placeholder} AS ${type})`

const decimalTypes: ReadonlySet<string> = new Set(['decimal', 'dec', 'numeric', 'fixed'])

/** Most digits that MySQL casts to behind the point; MariaDB casts to 38. */
const maxScale = 30
const hasMoreDigits = new RegExp(String.raw`\.\d{${maxScale + 1}}`)

/**
 * A decimal of any scale, from its text. What is before the point and what is behind it are cast each: one type that has room for all digits
 * behind it has room for 35 before it, and MySQL takes the greatest number of the type for a greater one.
 */
function castDecimal(placeholder: string): string {
  const whole = `SUBSTRING_INDEX(${placeholder}, '.', 1)`
  const digits = `SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(${placeholder}, '.0'), '.', 2), '.', -1)`
  const fraction = `CONCAT(IF(LEFT(${placeholder}, 1) = '-', '-0.', '0.'), ${digits})`
  return `(CAST(${whole} AS DECIMAL(65)) + CAST(${fraction} AS DECIMAL(${maxScale}, ${maxScale})))`
}

/** Whether values of a column are decimals of which a declared type says nothing, such as a sum of `bigint`. */
function isComputedDecimal({ valueType, column }: StoredColumn): boolean {
  return isComputed(column) && (valueType.mayExceedDouble === true || valueType.name === 'decimal')
}

/**
 * A number that is bound as text, with all its digits. Without its type MariaDB compares it as a double, which holds fewer, in `IN`
 * lists above all.
 */
export const mysqlOperand: Dialect['operand'] = (stored, placeholder) => {
  const { valueType, valueColumn } = stored
  if (isComputedDecimal(stored)) return castDecimal(placeholder)
  if (valueType.mayExceedDouble) return castAs(valueColumn.unsigned ? 'UNSIGNED' : 'SIGNED')(placeholder)
  // A transformer may have another kind of values, which are stored as decimals nevertheless.
  const isDecimal = !isNumeric(valueType) && decimalTypes.has(String(valueColumn.type))
  if (!isDecimal && valueType.name !== 'decimal') return placeholder
  return castAs(`DECIMAL(65, ${valueColumn.scale ?? 0})`)(placeholder)
}

/** How MySQL and MariaDB have a sort column compared with what a token holds of it. */
export const mysqlCursor: Dialect['cursorSql'] = (stored, column) => {
  const { valueType, valueColumn } = stored
  const plain = {
    sorted: column,
    compared: column,
    bound: (placeholder: string) => mysqlOperand(stored, placeholder),
    accepts: (value: CursorValue) =>
      isCursorValueOf(valueType, value) && !(isComputedDecimal(stored) && hasMoreDigits.test(String(value))),
  }
  const type = String(valueColumn.type)
  // It sorts by the first 1,024 bytes of a text alone (`max_sort_length`), and compares all of it.
  if (valueType.name === 'text' && (longTexts.has(type) || Number(valueColumn.length) > sortedLength)) {
    const beginning = `LEFT(${column}, ${sortedLength})`
    return { ...plain, read: beginning, sorted: beginning, compared: beginning }
  }
  // Sorted by their number, compared by their text.
  if (type === 'enum' || type === 'simple-enum')
    return { ...plain, read: `${column} + 0`, compared: `${column} + 0`, accepts: Number.isInteger }
  if (type === 'bit') {
    const accepts = (value: CursorValue): boolean => typeof value === 'string' && /^\d{1,20}$/.test(value)
    return { ...plain, read: `CAST(${column} + 0 AS CHAR)`, bound: castAs('UNSIGNED'), accepts }
  }
  if (type === 'float' || type === 'double' || type === 'real') return { ...plain, read: `${column} + 0e0` }
  return valueType.mayExceedDouble === false
    ? { ...plain, read: column }
    : { ...plain, read: `CAST(${column} AS CHAR)` }
}
