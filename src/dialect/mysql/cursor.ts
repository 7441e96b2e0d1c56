import type { CursorValue } from '../../request/cursor'
import { isComputed } from '../../schema/metadata'
import type { StoredColumn } from '../../schema/stored-column'
import { isNumeric } from '../../value/value-type'
import { isCursorValueOf } from '../cursor-value'
import type { Dialect } from '../dialect'

const longTextTypes: ReadonlySet<string> = new Set(['text', 'mediumtext', 'longtext'])
/** Number of characters of a long text that keyset paging sorts by. */
const sortedLength = 255

const castAs =
  (type: string) =>
  (placeholder: string): string =>
    `CAST(${placeholder} AS ${type})`

const decimalTypes: ReadonlySet<string> = new Set(['decimal', 'dec', 'numeric', 'fixed'])

/** Maximum number of fraction digits in a cast to DECIMAL on MySQL. MariaDB supports 38. */
const maxScale = 30
const exceedsMaxScale = new RegExp(String.raw`\.\d{${maxScale + 1}}`)

/**
 * Casts the text of a decimal of any scale. Integer part and fraction are cast separately: a type with 30 fraction
 * digits has room for only 35 integer digits, and MySQL replaces a number that is too large by the largest number of
 * the type.
 */
function castDecimal(placeholder: string): string {
  const integerPart = `SUBSTRING_INDEX(${placeholder}, '.', 1)`
  const fractionDigits = `SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(${placeholder}, '.0'), '.', 2), '.', -1)`
  const fraction = `CONCAT(IF(LEFT(${placeholder}, 1) = '-', '-0.', '0.'), ${fractionDigits})`
  return `(CAST(${integerPart} AS DECIMAL(65)) + CAST(${fraction} AS DECIMAL(${maxScale}, ${maxScale})))`
}

/** Whether a column is computed and may return decimals of unknown precision and scale, such as a sum of `bigint`. */
function isComputedDecimal({ valueType, column }: StoredColumn): boolean {
  return isComputed(column) && (valueType.mayExceedDouble === true || valueType.name === 'decimal')
}

/**
 * Casts a number that is bound as text to its exact type. Without the cast MariaDB compares it as a double, which has
 * fewer digits, in particular in `IN` lists.
 */
export const mysqlOperand: Dialect['operandSql'] = (stored, placeholder) => {
  const { valueType, valueColumn } = stored
  if (isComputedDecimal(stored)) return castDecimal(placeholder)
  if (valueType.mayExceedDouble) return castAs(valueColumn.unsigned ? 'UNSIGNED' : 'SIGNED')(placeholder)
  // With a transformer the value type may differ, although the column stores decimals.
  const isDecimal = !isNumeric(valueType) && decimalTypes.has(String(valueColumn.type))
  if (!isDecimal && valueType.name !== 'decimal') return placeholder
  return castAs(`DECIMAL(65, ${valueColumn.scale ?? 0})`)(placeholder)
}

/** Longest time, in seconds, by which clocks of a time zone have been set back since 1970: three hours, and a reserve. */
const clockChange = 4 * 3600

/**
 * Range of a `timestamp` column that can use an index: unlike UNIX_TIMESTAMP of the column, the column itself can be
 * compared only with local time, of which an hour occurs twice where clocks are set back. Around such an hour the range
 * is longer. There is no range at the ends of what FROM_UNIXTIME converts.
 */
function seekTimestamp(column: string, operator: '<' | '>', instant: string): string {
  const [earlier, later] = [`FROM_UNIXTIME(${instant} - ${clockChange})`, `FROM_UNIXTIME(${instant} + ${clockChange})`]
  const isSteady = `TIMESTAMPDIFF(SECOND, ${earlier}, ${later}) = ${2 * clockChange}`
  const bound = `IF(${isSteady}, FROM_UNIXTIME(${instant}), ${operator === '>' ? earlier : later})`
  return `(${column} ${operator}= ${bound} OR ${instant} NOT BETWEEN ${clockChange} AND ${2 ** 31 - 1 - clockChange})`
}

/** SQL and checks of keyset paging for a sort column on MySQL and MariaDB. */
export const mysqlCursor: Dialect['cursorSql'] = (stored, column) => {
  const { valueType, valueColumn } = stored
  const common = {
    sorted: column,
    compared: column,
    operand: (placeholder: string) => mysqlOperand(stored, placeholder),
    accepts: (value: CursorValue) =>
      isCursorValueOf(valueType, value) && !(isComputedDecimal(stored) && exceedsMaxScale.test(String(value))),
  }
  const type = String(valueColumn.type)
  // Sorting uses only the first bytes of a text (`max_sort_length`), but comparison uses all of it.
  if (valueType.name === 'text' && (longTextTypes.has(type) || Number(valueColumn.length) > sortedLength)) {
    const prefix = `LEFT(${column}, ${sortedLength})`
    return { ...common, read: prefix, sorted: prefix, compared: prefix }
  }
  // Enumerations are sorted by their index, but compared as text: `+ 0` reads and compares the index.
  if (type === 'enum' || type === 'simple-enum')
    return { ...common, read: `${column} + 0`, compared: `${column} + 0`, accepts: Number.isInteger }
  if (type === 'bit') {
    const accepts = (value: CursorValue): boolean => typeof value === 'string' && /^\d{1,20}$/.test(value)
    return { ...common, read: `CAST(${column} + 0 AS CHAR)`, operand: castAs('UNSIGNED'), accepts }
  }
  // Sorted by its instant, which text in local time does not tell where clocks are set back. Computed values may be of
  // another type than declared.
  if (type === 'timestamp' && !isComputed(stored.column)) {
    const instant = `UNIX_TIMESTAMP(${column})`
    return {
      ...common,
      read: `CAST(${instant} AS CHAR)`,
      compared: instant,
      operand: castAs('DECIMAL(20, 6)'),
      seek: (operator, bound) => seekTimestamp(column, operator, bound),
      accepts: (value) => typeof value === 'string' && /^\d{1,12}(\.\d{1,6})?$/.test(value),
    }
  }
  if (type === 'float' || type === 'double' || type === 'real') return { ...common, read: `${column} + 0e0` }
  return valueType.mayExceedDouble === false
    ? { ...common, read: column }
    : { ...common, read: `CAST(${column} AS CHAR)` }
}
