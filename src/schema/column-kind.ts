import type { DataSource, EntityMetadata } from 'typeorm'
import { booleanKind } from '../value/boolean'
import { dateKind, dateTimeKind, timeKind } from '../value/date-time'
import { jsonKind, simpleArrayKind } from '../value/json'
import type { Kind } from '../value/kind'
import { decimalKind, floatKind, integerKind, integerRange, safeRange } from '../value/number'
import { enumKind, textKind, uuidKind } from '../value/text'

/** TypeORM's own class, which it does not export by name. */
export type ColumnMetadata = EntityMetadata['columns'][number]

type BuildKind = (column: ColumnMetadata, dataSource: DataSource) => Kind

const text: BuildKind = (column, { driver }) => {
  const length = Number(driver.getColumnLength(column))
  return length > 0 ? textKind(length) : textKind()
}

/** SQLite keeps decimals as doubles, which hold 15 digits. */
const significantDigits = 15
const decimal: BuildKind = ({ precision, scale = 0 }) =>
  typeof precision === 'number'
    ? decimalKind({ whole: precision - scale, fraction: scale, significant: Math.min(precision, significantDigits) })
    : decimalKind({ whole: significantDigits, fraction: significantDigits, significant: significantDigits })

const members: BuildKind = (column) => enumKind(column.enum ?? [])

/**
 * By TypeORM's names of column types. SQLite keeps 64 bits in every integer column: those that TypeORM reads as numbers are
 * held to what a number holds.
 */
const kinds: ReadonlyMap<string, Kind | BuildKind> = new Map<string, Kind | BuildKind>([
  ['tinyint', integerKind(integerRange(8))],
  ['int2', integerKind(integerRange(16))],
  ['smallint', integerKind(integerRange(16))],
  ['mediumint', integerKind(integerRange(24))],
  ['int', integerKind(safeRange)],
  ['integer', integerKind(safeRange)],
  ['bigint', integerKind(integerRange(64))],
  ['int8', integerKind(integerRange(64))],
  ['unsigned big int', integerKind({ min: 0n, max: integerRange(64).max })],
  ['real', floatKind],
  ['float', floatKind],
  ['double', floatKind],
  ['double precision', floatKind],
  ['numeric', decimal],
  ['decimal', decimal],
  ['boolean', booleanKind],
  ['character', text],
  ['varchar', text],
  ['varying character', text],
  ['nchar', text],
  ['native character', text],
  ['nvarchar', text],
  ['text', text],
  ['clob', text],
  ['uuid', uuidKind],
  ['simple-enum', members],
  ['date', dateKind],
  ['time', timeKind],
  ['datetime', dateTimeKind],
  ['json', jsonKind],
  ['jsonb', jsonKind],
  ['simple-json', jsonKind],
  ['simple-array', simpleArrayKind],
])

/** Binary columns have no JSON form and are never exposed (D12). */
export function isBinary(column: ColumnMetadata, { driver }: DataSource): boolean {
  return driver.normalizeType(column) === 'blob'
}

/**
 * The kind of values that a column holds. What the entity declared counts first: drivers store a `uuid` or a
 * `simple-json` as plain text.
 * @returns undefined for a column type that this service has no JSON form for
 */
export function kindOf(column: ColumnMetadata, dataSource: DataSource): Kind | undefined {
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : String(column.type)
  const kind = kinds.get(declared) ?? kinds.get(dataSource.driver.normalizeType(column))
  return typeof kind === 'function' ? kind(column, dataSource) : kind
}
