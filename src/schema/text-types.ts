import { enumType, textType } from '../value/text'
import type { BuildValueType } from './value-type-table'

/** Text up to the length of its column. */
export const text: BuildValueType = (column, { driver }) => {
  const length = Number(driver.getColumnLength(column))
  return length > 0 ? textType(length) : textType()
}

/** One of the members that the column names. */
export const members: BuildValueType = ({ enum: values }) => enumType(values ?? [])
