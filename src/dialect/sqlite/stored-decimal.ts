import { isDate } from 'node:util/types'
import type { ColumnMetadata } from '../../schema/metadata'
import { decimalShape, exactDigits } from '../../schema/sqlite-types'
import { decimalRounder } from '../../value/number'
import type { Dialect } from '../dialect'
import { hasText } from '../object-parameter'

const rounders = new WeakMap<ColumnMetadata, (text: string) => string>()

/**
 * Rounds a decimal that a listener has set to the digits of its column, as the other databases do. SQLite would store all
 * digits: 0.1 + 0.2 would be shown as 0.30 but not be found by this value. A comparison with the rounded column could not use
 * an index.
 *
 * A foreign key is not rounded, because it equals a stored key. Nor is the result of a transformer: its column shows the exact
 * value.
 */
export const toStoredDecimal: Dialect['toStoredValue'] = (column, prepared) => {
  const { type, transformer, referencedColumn } = column
  const isRounded = (type === 'decimal' || type === 'numeric') && transformer === undefined
  if (!isRounded || referencedColumn !== undefined || !mayBeDecimal(prepared)) return prepared
  const round = rounders.get(column) ?? decimalRounder({ ...decimalShape(column), significant: exactDigits })
  rounders.set(column, round)
  return round(String(prepared))
}

/** Whether the driver would bind a number or a text, which may be that of an object, such as a `Decimal` of decimal.js. */
function mayBeDecimal(value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'string') return true
  const isObject = typeof value === 'object' && value !== null && !isDate(value)
  return isObject && !ArrayBuffer.isView(value) && !Array.isArray(value) && hasText(value)
}
