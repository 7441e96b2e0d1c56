import type { ReadColumn } from '../../schema/stored-column'
import { endOfQuoted, unquote } from './quoted'

/** Whether a column is an `hstore` whose values are objects in JSON (`hstoreType: 'object'`), and not texts. */
export function isHstoreObject({ valueColumn: { type, hstoreType, isArray, transformer } }: ReadColumn): boolean {
  return type === 'hstore' && hstoreType === 'object' && !isArray && transformer === undefined
}

/**
 * Parses PostgreSQL's text form of an `hstore`, such as `"a"=>"1", "b"=>NULL`, and returns other values, such as null,
 * unchanged. TypeORM's parser loses a key named `__proto__`, because it assigns each key to an object. A regular
 * expression for the pairs overflows its stack with values of 10 MB.
 */
export function readHstore(text: unknown): unknown {
  if (typeof text !== 'string') return text
  const pairs: [string, string | null][] = []
  let start = text.indexOf('"')
  while (start >= 0) {
    const keyEnd = endOfQuoted(text, start)
    const valueStart = keyEnd + '"=>'.length
    const isNull = text[valueStart] !== '"'
    const valueEnd = isNull ? valueStart : endOfQuoted(text, valueStart)
    pairs.push([unquote(text, start, keyEnd), isNull ? null : unquote(text, valueStart, valueEnd)])
    start = text.indexOf('"', valueEnd + 1)
  }
  return Object.fromEntries(pairs)
}
