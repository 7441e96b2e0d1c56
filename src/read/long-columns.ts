import type { DataSource } from 'typeorm'
import { isComputed } from '../schema/metadata'
import type { ReadColumn } from '../schema/stored-column'

/** Column types whose values are always short. */
const shortTypes =
  /^(tinyint|smallint|mediumint|int\d?|integer|bigint|unsigned big int|bool(ean)?|real|float\d?|double( precision)?|money|year|date|datetime|time(stamp)?(tz)?( with(out)? time zone)?|interval|uuid|inet\d?|cidr|macaddr8?|point|line|lseg|box|circle|enum|simple-enum|(int\d|date|ts|tstz)range)$/
/** Maximum size of a short value, in bytes. */
const maxShortBytes = 64
/** Maximum size of a character in UTF-8, in bytes. */
const maxCharacterBytes = 4
/** Maximum sizes of values by column type on MySQL, in bytes. On PostgreSQL and SQLite `text` has no limit. */
const mysqlMaxBytes: ReadonlyMap<string, number> = new Map([
  ['tinytext', 255],
  ['tinyblob', 255],
  ['text', 65_535],
  ['blob', 65_535],
])

/** Columns whose values can be long. */
export interface LongColumns {
  readonly long: ReadonlySet<ReadColumn>
  /** Maximum size of a row by the declarations of all its columns, in bytes; Infinity if a column has no limit. */
  readonly maxRowBytes: number
}

/** Finds the columns that can be long. It relies on declared lengths, although SQLite does not enforce them. */
export function findLongColumns(columns: readonly ReadColumn[], dataSource: DataSource): LongColumns {
  const sizes = columns.map((column) => [column, maxBytes(column, dataSource)] as const)
  return {
    long: new Set(sizes.filter(([, bytes]) => bytes > maxShortBytes).map(([column]) => column)),
    maxRowBytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
  }
}

/** Maximum size of a column's values by its declaration, in bytes; undefined if they are short. */
export function longBytes(column: ReadColumn, dataSource: DataSource): number | undefined {
  const bytes = maxBytes(column, dataSource)
  return bytes > maxShortBytes ? bytes : undefined
}

function maxBytes({ column, valueColumn, valueType }: ReadColumn, { driver, options }: DataSource): number {
  const { type, isArray, precision } = valueColumn
  const typeName = String(typeof type === 'function' ? driver.normalizeType(valueColumn) : type)
  const isMysql = options.type === 'mysql' || options.type === 'mariadb'
  const isShort =
    shortTypes.test(typeName) || valueColumn.generationStrategy === 'uuid' || (isMysql && typeName === 'bit')
  if (isShort && !isArray) return maxShortBytes
  // Decimals have at most 65 digits on MySQL, and are doubles on SQLite. On PostgreSQL they can have any number of
  // digits if the column has no precision.
  if (!isArray && /^(dec(imal)?|numeric|fixed)$/.test(typeName)) {
    return options.type !== 'postgres' || typeof precision === 'number' ? maxShortBytes : Number.POSITIVE_INFINITY
  }
  if (isArray || isComputed(column)) return Number.POSITIVE_INFINITY
  const mysqlBytes = isMysql ? mysqlMaxBytes.get(typeName) : undefined
  if (mysqlBytes !== undefined) return mysqlBytes
  const length = valueType?.name === 'text' ? Number(driver.getColumnLength(valueColumn)) : 0
  return length > 0 ? length * maxCharacterBytes : Number.POSITIVE_INFINITY
}
