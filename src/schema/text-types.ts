import { enumType, textType } from '../value/text'
import type { BuildValueType } from './value-type-table'

/** Builds the value type of text, limited to the length of the column. */
export const text: BuildValueType = (column, { driver }) => {
  const length = Number(driver.getColumnLength(column))
  return length > 0 ? textType(length) : textType()
}

/** Builds the value type of an enumeration from the members that the column declares. */
export const members: BuildValueType = ({ enum: values }) => enumType(values ?? [])
