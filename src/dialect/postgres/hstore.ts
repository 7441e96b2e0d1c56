import type { ReadColumn } from '../../schema/stored-column'

/** Whether a column is an `hstore` that is an object in JSON. */
export function isHstoreObject({ valueColumn: { type, hstoreType, isArray, transformer } }: ReadColumn): boolean {
  return type === 'hstore' && hstoreType === 'object' && !isArray && transformer === undefined
}

const pairPattern = /"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")/gs

/**
 * Parses PostgreSQL's text form of an `hstore`. TypeORM's parser loses a key named `__proto__`, because it assigns each
 * key to an object.
 */
export function readHstore(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return Object.fromEntries(
    [...text.matchAll(pairPattern)].map(([, key = '', value]) => [
      withoutEscapes(key),
      value === undefined ? null : withoutEscapes(value),
    ]),
  )
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, '$1')
}
