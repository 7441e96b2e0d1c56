import { enumKind, textKind } from '../value/text'
import type { BuildKind } from './kind-table'

/** Text up to the length of its column. */
export const text: BuildKind = (column, { driver }) => {
  const length = Number(driver.getColumnLength(column))
  return length > 0 ? textKind(length) : textKind()
}

/** One of the members that the column names. */
export const members: BuildKind = ({ enum: values }) => enumKind(values ?? [])
