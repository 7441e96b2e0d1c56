import { enumType, textType } from '../value/text'
import type { BuildValueType } from './value-type-table'

/** Builds the value type of text, limited to the length of the column. */
export const text: BuildValueType = (column, { driver }) => {
  const length = Number(driver.getColumnLength(column))
  return length > 0 ? textType(length) : textType()
}

/** Removes the spaces at the end of a text. A regular expression would take quadratic time for spaces before another character. */
export function withoutSpacesAtEnd(value: string): string {
  let end = value.length
  while (value[end - 1] === ' ') end -= 1
  return value.slice(0, end)
}

/** Builds the value type of an enumeration from the members that the column declares. */
export const members: BuildValueType = ({ enum: values }) => enumType(values ?? [])
