import { ValueError } from '../errors'
import type { CursorValue } from '../request/cursor'
import { isNumeric, type ValueType } from '../value/value-type'

const numberPattern = /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i
const dateOrTimePattern = /^[-+]?\d+([-:]\d\d){2}([ T]\d\d:\d\d:\d\d)?(\.\d+)?Z?$/

/**
 * Whether a cursor may contain a value for a column of this value type. The check is needed because without a secret,
 * cursors can be forged, and SQLite and MariaDB compare a column with a value of any type, or fail.
 */
export function isCursorValueOf(valueType: ValueType, value: CursorValue): boolean {
  if (isNumeric(valueType) || valueType.name === 'boolean')
    return typeof value === 'number' || (typeof value === 'string' && numberPattern.test(value))
  if (typeof value !== 'string') return false
  if (valueType.upperBound !== undefined) return dateOrTimePattern.test(value)
  try {
    valueType.fromText(value)
    return true
  } catch (error) {
    if (error instanceof ValueError) return false
    throw error
  }
}
