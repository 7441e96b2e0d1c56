import { booleanType } from '../value/boolean'
import { dateTimeType, dateType, timeType } from '../value/date-time'
import { jsonType, simpleArrayType } from '../value/json'
import { type DecimalShape, decimalType, floatType, integerRange, integerType, safeRange } from '../value/number'
import { uuidTextType } from '../value/text'
import { type ColumnMetadata, isComputed } from './metadata'
import { members, text } from './text-types'
import type { BuildValueType, ValueTypeEntry, ValueTypeTable } from './value-type-table'

/** Maximum number of digits of a decimal that SQLite stores exactly: it stores decimals as doubles. */
export const exactDigits = 15

/** The digits of a decimal column. */
export const decimalShape = ({ precision, scale = 0 }: ColumnMetadata): DecimalShape =>
  typeof precision === 'number'
    ? { whole: precision - scale, fraction: scale, significant: Math.min(precision, exactDigits), minFraction: scale }
    : { whole: exactDigits, fraction: exactDigits, significant: exactDigits }

/** Whether a query, or the expression of a generated column, computes the values of a column. */
export const isComputedOrGenerated = (column: ColumnMetadata): boolean =>
  isComputed(column) || column.asExpression !== undefined

/**
 * Value type of decimals. SQLite does not round a computed value to the scale of its column: it is shown with up to
 * {@link exactDigits} digits, and filters accept as many after the point.
 */
const decimal: BuildValueType = (column) => {
  const shape = decimalShape(column)
  if (!isComputedOrGenerated(column)) return decimalType(shape)
  const unrounded = { whole: exactDigits, fraction: Number.POSITIVE_INFINITY, significant: exactDigits }
  return { ...decimalType(unrounded), toJson: decimalType({ ...shape, significant: exactDigits }).toJson }
}

/**
 * Value types of SQLite's column types. SQLite stores integers of 64 bits in every integer column; columns that TypeORM
 * reads as JavaScript numbers are limited to ±(2^53−1).
 */
export const sqliteTypes: ValueTypeTable = new Map<string, ValueTypeEntry>([
  ['tinyint', integerType(integerRange(8))],
  ['int2', integerType(integerRange(16))],
  ['smallint', integerType(integerRange(16))],
  ['mediumint', integerType(integerRange(24))],
  ['int', integerType(safeRange)],
  ['integer', integerType(safeRange)],
  ['bigint', integerType(integerRange(64))],
  ['int8', integerType(integerRange(64))],
  ['unsigned big int', integerType({ min: 0n, max: integerRange(64).max })],
  ['real', floatType],
  ['float', floatType],
  ['double', floatType],
  ['double precision', floatType],
  ['numeric', decimal],
  ['decimal', decimal],
  ['boolean', booleanType],
  ['character', text],
  ['varchar', text],
  ['varying character', text],
  ['nchar', text],
  ['native character', text],
  ['nvarchar', text],
  ['text', text],
  ['clob', text],
  ['uuid', uuidTextType],
  ['simple-enum', members],
  ['date', dateType],
  ['time', timeType],
  ['datetime', dateTimeType],
  ['json', jsonType],
  ['jsonb', jsonType],
  ['simple-json', jsonType],
  ['simple-array', simpleArrayType],
  ['blob', 'binary'],
])
