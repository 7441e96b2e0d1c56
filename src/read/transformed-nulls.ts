import type { StoredColumn } from '../schema/stored-column'
import { mayBeNull } from './row'

/** Whether the transformer of a column is called for nulls. That of a key is not called for a foreign key. */
const transformsNull = ({ column, valueColumn }: StoredColumn): boolean => column === valueColumn

/** Whether a stored null of a column is shown as a value. */
export const showsNullAsValue = (stored: StoredColumn): boolean =>
  stored.valueType.nulls?.showsValue === true && transformsNull(stored) && mayBeNull(stored)

/** Whether null is stored as a value that the database can compare. */
export const storesNullAsValue = (stored: StoredColumn): boolean =>
  stored.valueType.nulls?.storesNullAsValue === true &&
  transformsNull(stored) &&
  stored.valueType.operators.includes('eq')

/**
 * Whether a stored null equals a value: it is shown as this value, or the value is stored as null and nulls are shown as
 * another value, such as an empty text for a text of spaces.
 */
export function isStoredNull(stored: StoredColumn, value: unknown): boolean {
  const { nulls } = stored.valueType
  return nulls !== undefined && showsNullAsValue(stored) && (nulls.isStoredAsNull(value) || nulls.isShownAs(value))
}
