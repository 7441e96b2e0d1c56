import type { ReadColumn } from '../../schema/stored-column'

/** Whether a column is an `hstore` that is shown as an object. */
export function isHstoreObject({ valueColumn: { type, hstoreType, isArray, transformer } }: ReadColumn): boolean {
  return type === 'hstore' && hstoreType === 'object' && !isArray && transformer === undefined
}

const pair = /"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")/gs

/**
 * Reads an `hstore` as PostgreSQL writes it. TypeORM's own reading loses a key called `__proto__`, since it assigns each key to an
 * object.
 */
export function readHstore(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return Object.fromEntries(
    [...text.matchAll(pair)].map(([, key = '', value]) => [
      withoutEscapes(key),
      value === undefined ? null : withoutEscapes(value),
    ]),
  )
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, '$1')
}
