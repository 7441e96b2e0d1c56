import type { ReadColumn } from '../../schema/stored-column'

/** Column types whose values are padded with blanks to a fixed length. */
const paddedTypes: ReadonlySet<string> = new Set(['char', 'nchar', 'national char'])

/**
 * Expression of a column without padding, which a result contains if `sql_mode` has `PAD_CHAR_TO_FULL_LENGTH`. With the mode
 * `ORACLE`, TRIM returns null instead of an empty text. LEFT returns null only for null.
 */
export const unpadded = ({ valueColumn }: ReadColumn, column: string): string =>
  paddedTypes.has(String(valueColumn.type)) ? `COALESCE(TRIM(TRAILING ' ' FROM ${column}), LEFT(${column}, 0))` : column
