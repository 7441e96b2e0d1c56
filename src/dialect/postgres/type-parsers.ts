import type { DataSource } from 'typeorm'
import { isComputed } from '../../schema/metadata'
import type { ReadColumn } from '../../schema/stored-column'
import { type PostgresDriver, type TypeParser, typeParserOf } from './connection'
import { parseTextArray } from './text-array'

/** Column types that pg parses as JSON, each with the OID of the type, by which pg selects the parser. */
const jsonTypes: ReadonlyMap<unknown, number> = new Map([
  ['json', 114],
  ['jsonb', 3802],
])
/** OID of `text[]`. */
const textArray = 1009
/** OID of `int8`. */
const int8 = 20
/** The names of `int8`. */
const bigIntTypes: ReadonlySet<unknown> = new Set(['int8', 'bigint'])
/**
 * OID of `cidr[]`. pg parses it with its function for all arrays of texts, and applications rarely install another parser
 * for it. pg does not export this function, so {@link isTextArrayParser} looks it up by this type.
 */
const cidrArray = 651
/**
 * Types whose arrays pg parses without loss, each with the OID of the array type. Arrays of other types are read as
 * `text[]`. `int8` is one of these, because pg returns its elements as JavaScript numbers if the application sets `parseInt8`.
 */
export const arrayTypes: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ...['int', 'int4', 'integer'].map((type) => [type, 1007] as const),
  ...['int2', 'smallint'].map((type) => [type, 1005] as const),
  ...['float4', 'real'].map((type) => [type, 1021] as const),
  ...['float', 'float8', 'double precision'].map((type) => [type, 1022] as const),
  ...['bool', 'boolean'].map((type) => [type, 1000] as const),
  ['text', textArray],
  ...['varchar', 'character varying'].map((type) => [type, 1015] as const),
  ...['char', 'character'].map((type) => [type, 1014] as const),
  ['uuid', 2951],
  ['inet', 1041],
  ...['timestamp', 'timestamp without time zone'].map((type) => [type, 1115] as const),
  ...['timestamptz', 'timestamp with time zone'].map((type) => [type, 1185] as const),
])

/**
 * OID of the type whose parser reads a column of JSON or of an array; undefined for other columns. Columns with an OID
 * are selected as text, and parsed when their record is rendered. Otherwise pg parses all rows when they arrive, and
 * parsed JSON can take twenty times as much memory as its text, for all requests whose rows have not been rendered yet.
 */
export function parserOidOf({ column, valueColumn: { type, isArray, transformer } }: ReadColumn): number | undefined {
  // The values of a computed column may have another type than the declared one.
  if (isComputed(column)) return undefined
  if (!isArray) return jsonTypes.get(type)
  return arrayTypes.get(type) ?? (transformer === undefined && typeof type === 'string' ? textArray : undefined)
}

/** Whether a column is a 64-bit integer, which is read as text: see {@link buildBigIntReader}. */
export function isBigIntColumn({ valueColumn: { type, isArray } }: ReadColumn): boolean {
  return bigIntTypes.has(type) && !isArray
}

/**
 * Returns a function that parses the text of a 64-bit integer as pg would, but returns the text itself if a JavaScript number
 * would round the integer. An application may let pg return numbers, by TypeORM's option `parseInt8` or by a type parser: two
 * keys could then be the same number, and a write would change another record.
 */
export function buildBigIntReader({ driver }: DataSource): (value: unknown) => unknown {
  return (value) => {
    if (typeof value !== 'string') return value
    const parsed = typeParserOf(driver as PostgresDriver, int8)(value)
    return typeof parsed === 'number' && !Number.isSafeInteger(parsed) ? value : parsed
  }
}

/**
 * Returns a function that parses the text of a value as pg would, with the application's parser if there is one.
 * @param typeId OID of the type
 */
export function buildParser(typeId: number, { driver }: DataSource): (value: unknown) => unknown {
  return (value) => {
    if (typeof value !== 'string') return value
    const parse = typeParserOf(driver as PostgresDriver, typeId)
    return isTextArrayParser(parse, driver as PostgresDriver) ? parseTextArray(value) : parse(value)
  }
}

/**
 * Whether a parser is pg's own function for arrays of texts, which `parseTextArray` replaces. If the application returns the
 * same function for every type, such as one that returns the text, it does not parse arrays.
 */
function isTextArrayParser(parse: TypeParser, driver: PostgresDriver): boolean {
  return parse === typeParserOf(driver, cidrArray) && Array.isArray(parse('{}'))
}
