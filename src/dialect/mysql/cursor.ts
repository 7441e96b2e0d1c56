import type { CursorValue } from '../../request/cursor'
import { isComputed } from '../../schema/metadata'
import type { StoredColumn } from '../../schema/stored-column'
import { isNumeric } from '../../value/value-type'
import { isCursorValueOf } from '../cursor-value'
import type { Dialect } from '../dialect'

const longTextTypes: ReadonlySet<string> = new Set(['text', 'mediumtext', 'longtext'])
/** Number of characters of a long text by which lists are sorted. */
const sortedLength = 255

const isLongText = ({ valueType, valueColumn }: StoredColumn): boolean =>
  valueType.name === 'text' && longTextTypes.has(String(valueColumn.type))

const prefixOf = (column: string): string => `LEFT(${column}, ${sortedLength})`

/**
 * Sorts by the beginning of a long text. Otherwise the database copies the whole text of each record, in order to sort by its first
 * bytes (`max_sort_length`): a list of 60,000 records took ten times as long with related texts of 16 KiB. A VARCHAR stays as it is,
 * because it may have an index.
 */
export const mysqlSort: Dialect['sortSql'] = (stored, column) => (isLongText(stored) ? prefixOf(column) : column)

/** Returns a function that casts a placeholder to an SQL type. */
const castAs =
  (type: string) =>
  (placeholder: string): string =>
    `CAST(${placeholder} AS ${type})`

const floatTypes: ReadonlySet<string> = new Set(['float', 'double', 'double precision', 'real'])
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
 * fewer digits, in particular in `IN` lists. Without the cast, a `bit` with an index is compared with the bytes of the
 * text: the text `0` is the byte 48.
 */
export const mysqlOperand: Dialect['operandSql'] = (stored, placeholder) => {
  const { valueType, valueColumn } = stored
  if (valueColumn.type === 'bit') return castAs('UNSIGNED')(placeholder)
  if (isComputedDecimal(stored)) return castDecimal(placeholder)
  if (valueType.mayExceedDouble) return castAs(valueColumn.unsigned ? 'UNSIGNED' : 'SIGNED')(placeholder)
  // With a transformer, a column that stores decimals can have another value type.
  const storesDecimals = !isNumeric(valueType) && decimalTypes.has(String(valueColumn.type))
  if (!storesDecimals && valueType.name !== 'decimal') return placeholder
  return castAs(`DECIMAL(65, ${valueColumn.scale ?? 0})`)(placeholder)
}

/**
 * Upper bound, in seconds, of the time by which clocks of a time zone have been set back at once since 1970: three hours
 * and a margin of one hour.
 */
const maxClockChange = 4 * 3600

/**
 * Condition that selects the rows of a `timestamp` column before or after a cursor and maybe a few more, and for which
 * the database can use an index (see `seek` of `CursorSql`).
 *
 * The database cannot use the index for UNIX_TIMESTAMP of the column. The column itself can only be compared with a local
 * time, which is ambiguous where clocks are set back: an hour of local time occurs twice. If clocks change within
 * `maxClockChange` of the cursor, the bound is therefore moved by this time. Near the first and the last time that
 * FROM_UNIXTIME converts, the condition selects all rows.
 * @param instant placeholder or expression of the cursor's value, in seconds since 1970 (UTC)
 */
function seekTimestamp(column: string, operator: '<' | '>', instant: string): string {
  const earlier = `FROM_UNIXTIME(${instant} - ${maxClockChange})`
  const later = `FROM_UNIXTIME(${instant} + ${maxClockChange})`
  const hasNoClockChange = `TIMESTAMPDIFF(SECOND, ${earlier}, ${later}) = ${2 * maxClockChange}`
  const bound = `IF(${hasNoClockChange}, FROM_UNIXTIME(${instant}), ${operator === '>' ? earlier : later})`
  const lastInstant = 2 ** 31 - 1 - maxClockChange
  return `(${column} ${operator}= ${bound} OR ${instant} NOT BETWEEN ${maxClockChange} AND ${lastInstant})`
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
  // The database sorts by the first bytes of a text only (`max_sort_length`), but compares all of it. A short prefix is
  // sorted and compared completely.
  if (isLongText(stored) || (valueType.name === 'text' && Number(valueColumn.length) > sortedLength)) {
    const prefix = prefixOf(column)
    return { ...common, read: prefix, sorted: prefix, compared: prefix }
  }
  // Enumerations are sorted by their index, but compared as text: `+ 0` reads and compares the index. The result of a
  // virtual column has no index if it is that of a subquery.
  if (type === 'enum' || type === 'simple-enum') {
    const shown = `CAST(${column} AS CHAR)`
    return stored.column.isVirtualProperty
      ? { ...common, read: shown, sorted: shown, compared: shown }
      : { ...common, read: `${column} + 0`, compared: `${column} + 0`, accepts: Number.isInteger }
  }
  // A `bit` is read as the digits of its number, because the driver returns bytes.
  if (type === 'bit') {
    const accepts = (value: CursorValue): boolean => typeof value === 'string' && /^\d{1,20}$/.test(value)
    return { ...common, read: `CAST(${column} + 0 AS CHAR)`, accepts }
  }
  // A `timestamp` is read and compared as seconds since 1970, because its text is in local time, which is ambiguous where
  // clocks are set back. A computed column may have another type than the declared one.
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
  // The text form of a FLOAT is rounded to six digits, 123456.7 to 123457, and that of a DOUBLE that is read through a join is
  // cut after 22 characters. The sum is a double, which has all digits.
  if (floatTypes.has(type)) return { ...common, read: `${column} + 0e0` }
  // A cursor is JSON: an integer that a double can represent is a number in it, any other value a text.
  return valueType.mayExceedDouble === false
    ? { ...common, read: column }
    : { ...common, read: `CAST(${column} AS CHAR)` }
}
