import { packedBitsType } from '../value/bits'
import { booleanType } from '../value/boolean'
import { dateTypeFromYear, lastInstant, rangedDateTimeType, timeType } from '../value/date-time'
import { jsonType, setType, simpleArrayType } from '../value/json'
import { decimalType, floatType, integerRange, integerType, singleFloatType } from '../value/number'
import { addressType } from '../value/spelled'
import { uuidTextType, uuidType } from '../value/text'
import type { ValueType } from '../value/value-type'
import { isComputed } from './metadata'
import { members, text, withoutSpacesAtEnd } from './text-types'
import type { BuildValueType, ValueTypeEntry, ValueTypeTable } from './value-type-table'

const integer =
  (bits: number): BuildValueType =>
  ({ unsigned }) =>
    integerType(unsigned ? { min: 0n, max: 2n ** BigInt(bits) - 1n } : integerRange(bits))

/** Greatest number of digits of a decimal. */
const maxDecimalDigits = 65

/** A decimal without a precision has 10 digits, unless it is computed: then it has those of the expression. */
const decimal: BuildValueType = (column) => {
  const { precision, scale } = column
  if (isComputed(column) && precision === undefined) {
    return decimalType({ whole: maxDecimalDigits, fraction: maxDecimalDigits, significant: maxDecimalDigits })
  }
  const [significant, fraction] = [precision ?? 10, scale ?? 0]
  return decimalType({ whole: significant - fraction, fraction, significant, minFraction: fraction })
}
/** Text of a fixed length. The server removes spaces at the end of a value, so they are removed from keys and filters too. */
const character: BuildValueType = (column, dataSource) => {
  const untrimmed = text(column, dataSource)
  const trim = (value: unknown): string => withoutSpacesAtEnd(String(value))
  return {
    ...untrimmed,
    fromText: (value) => trim(untrimmed.fromText(value)),
    fromJson: (json) => trim(untrimmed.fromJson(json)),
    toCompared: trim,
  }
}
/** MySQL has no type for UUIDs. TypeORM stores them as text, which the server compares without regard to case. */
const caseInsensitiveUuid: ValueType = { ...uuidTextType, toCompared: (uuid) => uuid.toLowerCase() }
const set: BuildValueType = ({ enum: values }) => setType((values ?? []).map(String))

/** The first year that MySQL supports. The driver returns different dates for earlier ones. */
const firstYear = 1000

/**
 * The last instant before the year 10000, both in UTC and in local time, which MySQL's driver stores. East of UTC the
 * local year 10000 begins earlier.
 */
const lastLocalInstant = new Date(Math.min(lastInstant.getTime(), new Date(9999, 11, 31, 23, 59, 59, 999).getTime()))

/** Value types of the column types of MySQL and MariaDB. */
export const mysqlTypes: ValueTypeTable = new Map<string, ValueTypeEntry>([
  ['bit', packedBitsType],
  ['tinyint', integer(8)],
  ['smallint', integer(16)],
  ['mediumint', integer(24)],
  ['int', integer(32)],
  ['integer', integer(32)],
  ['bigint', integer(64)],
  ['bool', booleanType],
  ['boolean', booleanType],
  ['float', singleFloatType],
  ['double', floatType],
  ['double precision', floatType],
  ['real', floatType],
  ['decimal', decimal],
  ['dec', decimal],
  ['numeric', decimal],
  ['fixed', decimal],
  ['date', dateTypeFromYear(firstYear)],
  ['datetime', rangedDateTimeType({ first: new Date(`${firstYear}-01-01`), last: lastLocalInstant })],
  [
    'timestamp',
    rangedDateTimeType({ first: new Date('1970-01-01T00:00:01Z'), last: new Date('2038-01-19T03:14:07Z') }),
  ],
  ['time', timeType],
  ['year', integerType({ min: 1901n, max: 2155n })],
  ['char', character],
  ['nchar', character],
  ['national char', character],
  ['varchar', text],
  ['nvarchar', text],
  ['national varchar', text],
  ['tinytext', text],
  ['text', text],
  ['mediumtext', text],
  ['longtext', text],
  ['enum', members],
  ['simple-enum', members],
  ['set', set],
  ['json', jsonType],
  ['simple-json', jsonType],
  ['simple-array', simpleArrayType],
  ['uuid', (_, { options }) => (options.type === 'mysql' ? caseInsensitiveUuid : uuidType)],
  ['inet4', addressType(4)],
  ['inet6', addressType(6)],
  ['blob', 'binary'],
  ['tinyblob', 'binary'],
  ['mediumblob', 'binary'],
  ['longblob', 'binary'],
  ['binary', 'binary'],
  ['varbinary', 'binary'],
])
