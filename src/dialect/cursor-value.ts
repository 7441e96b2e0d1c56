import { ValueError } from '../errors'
import type { CursorValue } from '../request/cursor'
import { isNumeric, type ValueType } from '../value/value-type'

const number = /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i
const dateOrTime = /^[-+]?\d+([-:]\d\d){2}([ T]\d\d:\d\d:\d\d)?(\.\d+)?Z?$/

/**
 * Whether a token may hold a value for a column of this kind. Without a secret tokens can be forged, and SQLite and MariaDB compare
 * whatever they are given, or fail.
 */
export function isCursorValueOf(kind: ValueType, value: CursorValue): boolean {
  if (isNumeric(kind) || kind.name === 'boolean')
    return typeof value === 'number' || (typeof value === 'string' && number.test(value))
  if (typeof value !== 'string') return false
  if (kind.upperBound !== undefined) return dateOrTime.test(value)
  try {
    kind.fromText(value)
    return true
  } catch (error) {
    if (error instanceof ValueError) return false
    throw error
  }
}
