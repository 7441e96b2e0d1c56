import type { DataSource } from 'typeorm'
import { isComputed, type ReadColumn } from '../../schema/stored-column'
import { type Pools, typeParserOf } from './connection'

/** Types that pg parses as JSON, each with the number by which it knows the parser. */
const jsonTypes: ReadonlyMap<unknown, number> = new Map([
  ['json', 114],
  ['jsonb', 3802],
])
const textArray = 1009
/** Types whose arrays pg parses without losing anything, with the numbers of their arrays. Of others the members are read as text. */
export const arrayTypes: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ...['int', 'int4', 'integer'].map((type) => [type, 1007] as const),
  ...['int2', 'smallint'].map((type) => [type, 1005] as const),
  ...['int8', 'bigint'].map((type) => [type, 1016] as const),
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
 * The number of pg's parser for a column of JSON or of an array, which is read as text, and parsed when its record is rendered; undefined for
 * other columns. pg would parse all rows of all connections as they arrive, and some JSON takes more than ten times as much memory parsed as its
 * text does.
 */
export function parsedType({ column, valueColumn: { type, isArray, transformer } }: ReadColumn): number | undefined {
  // What a query gives may have another type than the one that is declared.
  if (isComputed(column)) return undefined
  if (!isArray) return jsonTypes.get(type)
  return arrayTypes.get(type) ?? (transformer === undefined && typeof type === 'string' ? textArray : undefined)
}

/** Reads the text of a value of such a type as pg would have. */
export function parsedReader(typeId: number, { driver }: DataSource): (value: unknown) => unknown {
  return (value) => (typeof value === 'string' ? typeParserOf(driver as Pools, typeId)(value) : value)
}
