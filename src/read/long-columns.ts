import type { DataSource } from 'typeorm'
import { memoize } from '../schema/memoize'
import { isComputed } from '../schema/metadata'
import type { ReadColumn } from '../schema/stored-column'

/** Types whose values have a few bytes, whatever they are. */
const shortTypes =
  /^(tinyint|smallint|mediumint|int\d?|integer|bigint|unsigned big int|bool(ean)?|real|float\d?|double( precision)?|money|year|date|datetime|time(stamp)?(tz)?( with(out)? time zone)?|interval|uuid|inet\d?|cidr|macaddr8?|point|line|lseg|box|circle|enum|simple-enum|(int\d|date|ts|tstz)range)$/
/** Bytes that such a value has at most. */
const shortBytes = 64
/** Bytes of a character at most: UTF-8. */
const bytesOfCharacter = 4
/** By MySQL, which has these types. PostgreSQL and SQLite have `text` without a bound. */
const mysqlBytes: ReadonlyMap<string, number> = new Map([
  ['tinytext', 255],
  ['tinyblob', 255],
  ['text', 65_535],
  ['blob', 65_535],
])

/** The columns whose values may be long. */
export interface LongColumns {
  readonly columns: ReadonlySet<ReadColumn>
  /** Bytes that all columns of a row have at most by what is declared; infinite where nothing is. */
  readonly rowBytes: number
}

/** Finds them. What is declared is believed, though SQLite does not hold anybody to it. */
export const longColumnsOf = memoize((columns: readonly ReadColumn[], dataSource: DataSource): LongColumns => {
  const sizes = columns.map((column) => [column, maxBytes(column, dataSource)] as const)
  return {
    columns: new Set(sizes.filter(([, bytes]) => bytes > shortBytes).map(([column]) => column)),
    rowBytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
  }
})

/** Bytes that the value of a column has at most, by what is declared; undefined where they are few. */
export function longBytes(column: ReadColumn, dataSource: DataSource): number | undefined {
  const bytes = maxBytes(column, dataSource)
  return bytes > shortBytes ? bytes : undefined
}

function maxBytes({ column, valueColumn, valueType }: ReadColumn, { driver, options }: DataSource): number {
  const { type, isArray, precision } = valueColumn
  const declared = String(typeof type === 'function' ? driver.normalizeType(valueColumn) : type)
  const isMysql = options.type === 'mysql' || options.type === 'mariadb'
  const isShort =
    shortTypes.test(declared) || valueColumn.generationStrategy === 'uuid' || (isMysql && declared === 'bit')
  if (isShort && !isArray) return shortBytes
  // MySQL's have 65 digits, SQLite's are doubles. PostgreSQL's have any number of digits without a precision.
  if (!isArray && /^(dec(imal)?|numeric|fixed)$/.test(declared)) {
    return options.type !== 'postgres' || typeof precision === 'number' ? shortBytes : Number.POSITIVE_INFINITY
  }
  if (isArray || isComputed(column)) return Number.POSITIVE_INFINITY
  const known = isMysql ? mysqlBytes.get(declared) : undefined
  if (known !== undefined) return known
  const length = valueType?.name === 'text' ? Number(driver.getColumnLength(valueColumn)) : 0
  return length > 0 ? length * bytesOfCharacter : Number.POSITIVE_INFINITY
}
