import type { DataSource, EntityMetadata } from 'typeorm'
import { dateKind, dateTimeKind, timeKind } from '../value/date-time'
import type { Kind } from '../value/kind'
import {
  booleanKind,
  decimalKind,
  floatKind,
  type IntegerRange,
  integerKind,
  integerRange,
  safeRange,
} from '../value/number'
import { enumKind, jsonKind, simpleArrayKind, textKind, uuidKind } from '../value/text'

/** TypeORM's own class, which it does not export by name. */
export type ColumnMetadata = EntityMetadata['columns'][number]

type KindOf = (column: ColumnMetadata, dataSource: DataSource) => Kind

const integer =
  (range: IntegerRange): KindOf =>
  () =>
    integerKind(range)
const text: KindOf = (column, dataSource) => {
  const length = Number(dataSource.driver.getColumnLength(column))
  return textKind(length > 0 ? length : undefined)
}
/** SQLite keeps decimals as doubles, which hold 15 digits. */
const significantDigits = 15
const decimal: KindOf = ({ precision, scale = 0 }) =>
  typeof precision === 'number'
    ? decimalKind({ whole: precision - scale, fraction: scale, significant: Math.min(precision, significantDigits) })
    : decimalKind({ whole: significantDigits, fraction: significantDigits, significant: significantDigits })
const members: KindOf = (column) => enumKind(column.enum ?? [])
const always =
  (kind: Kind): KindOf =>
  () =>
    kind

/**
 * SQLite keeps 64 bits in every integer column. Those that TypeORM reads as numbers are held to what a number holds; the
 * wider ones are read as text.
 */
const integers: Readonly<Record<string, KindOf>> = {
  tinyint: integer(integerRange(8)),
  int2: integer(integerRange(16)),
  smallint: integer(integerRange(16)),
  mediumint: integer(integerRange(24)),
  int: integer(safeRange),
  integer: integer(safeRange),
  bigint: integer(integerRange(64)),
  int8: integer(integerRange(64)),
  'unsigned big int': integer({ min: 0n, max: integerRange(64).max }),
}

const texts = Object.fromEntries(
  ['character', 'varchar', 'varying character', 'nchar', 'native character', 'nvarchar', 'text', 'clob'].map((type) => [
    type,
    text,
  ]),
)

const kinds: ReadonlyMap<string, KindOf> = new Map(
  Object.entries({
    ...integers,
    ...texts,
    boolean: always(booleanKind),
    real: always(floatKind),
    float: always(floatKind),
    double: always(floatKind),
    'double precision': always(floatKind),
    numeric: decimal,
    decimal,
    date: always(dateKind),
    time: always(timeKind),
    datetime: always(dateTimeKind),
    json: always(jsonKind),
    jsonb: always(jsonKind),
    'simple-json': always(jsonKind),
    'simple-array': always(simpleArrayKind),
    'simple-enum': members,
    enum: members,
    uuid: always(uuidKind),
  }),
)

const binary: ReadonlySet<string> = new Set(['blob'])

/** Binary columns have no JSON form and are never exposed (D12). */
export function isBinary(column: ColumnMetadata, dataSource: DataSource): boolean {
  return binary.has(dataSource.driver.normalizeType(column))
}

/**
 * The kind of values that a column holds. What the entity declared counts first: drivers store a `uuid` or a
 * `simple-json` as plain text.
 * @returns undefined for a column type that this service has no JSON form for
 */
export function kindOf(column: ColumnMetadata, dataSource: DataSource): Kind | undefined {
  const declared = column.generationStrategy === 'uuid' ? 'uuid' : String(column.type)
  const build = kinds.get(declared) ?? kinds.get(dataSource.driver.normalizeType(column))
  return build?.(column, dataSource)
}
