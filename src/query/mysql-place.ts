import type { Dialect } from './dialect'

const longTexts: ReadonlySet<string> = new Set(['text', 'mediumtext', 'longtext'])
/** In characters. */
const sortedLength = 255

const castAs =
  (type: string) =>
  (placeholder: string): string =>
    `CAST(${placeholder} AS ${type})`

/** How MySQL and MariaDB have a sort column compared with what a token holds of it. */
export const mysqlPlace: Dialect['place'] = ({ kind, valueColumn }, column) => {
  const plain = { sorted: column, compared: column, bound: (placeholder: string) => placeholder }
  const type = String(valueColumn.type)
  // It sorts by the first 1,024 bytes of a text alone (`max_sort_length`), and compares all of it.
  if (kind.operators.includes('like') && (longTexts.has(type) || Number(valueColumn.length) > sortedLength)) {
    const beginning = `LEFT(${column}, ${sortedLength})`
    return { ...plain, read: beginning, sorted: beginning, compared: beginning }
  }
  // Sorted by their number, compared by their text.
  if (type === 'enum' || type === 'simple-enum') return { ...plain, read: `${column} + 0`, compared: `${column} + 0` }
  if (type === 'bit') return { ...plain, read: `CAST(${column} + 0 AS CHAR)`, bound: castAs('UNSIGNED') }
  if (type === 'float' || type === 'double' || type === 'real') return { ...plain, read: `${column} + 0e0` }
  // A number and a text would be compared as doubles.
  const read = `CAST(${column} AS CHAR)`
  if (kind.wide) return { ...plain, read, bound: castAs(valueColumn.unsigned ? 'UNSIGNED' : 'SIGNED') }
  if (['decimal', 'numeric', 'dec', 'fixed'].includes(type)) {
    return { ...plain, read, bound: castAs(`DECIMAL(65, ${valueColumn.scale ?? 0})`) }
  }
  return kind.wide === false ? { ...plain, read: column } : { ...plain, read }
}
