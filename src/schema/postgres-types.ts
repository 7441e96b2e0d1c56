import { bitType } from '../value/bits'
import { booleanType } from '../value/boolean'
import { dateTimeType, dateType, roundedDateTimeType, timeType } from '../value/date-time'
import { cubeType, hstoreType, jsonType, simpleArrayType } from '../value/json'
import { decimalType, floatType, integerRange, integerType, singleFloatType } from '../value/number'
import {
  decimalRangeType,
  geometricType,
  hstoreTextType,
  intervalType,
  jsonPathType,
  macAddressType,
  networkType,
  offsetTimeType,
  rangeType,
  textQueryType,
  uncheckedTextType,
  xmlType,
} from '../value/spelled'
import { textType, uuidType } from '../value/text'
import { equalityOperators } from '../value/value-type'
import { members, text, withoutSpacesAtEnd } from './text-types'
import type { BuildValueType, ValueTypeEntry, ValueTypeTable } from './value-type-table'

/** Maximum number of digits accepted for a decimal column without a precision. PostgreSQL itself stores more. */
const maxDecimalDigits = 100
const decimal: BuildValueType = ({ precision, scale = 0 }) =>
  typeof precision === 'number'
    ? decimalType({ whole: precision - scale, fraction: scale, significant: precision, minFraction: scale })
    : decimalType({ whole: maxDecimalDigits, fraction: maxDecimalDigits, significant: maxDecimalDigits })
/** PostgreSQL rounds a date-time to the precision of its column. The service reads and writes milliseconds. */
const timestamp: BuildValueType = ({ precision }) =>
  typeof precision === 'number' && precision < 3 ? roundedDateTimeType(precision) : dateTimeType
/** PostgreSQL adds spaces at the end, and ignores them in comparisons. */
const character: BuildValueType = ({ length }) => ({
  ...textType(Number(length) || 1),
  toCompared: withoutSpacesAtEnd,
})
/**
 * PostgreSQL converts one character at a time. `toLowerCase` would convert Σ at the end of a word to ς, and İ to two
 * characters.
 */
const lowerCase = (value: string): string => value.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase()
const citext: BuildValueType = (column, dataSource) => ({ ...text(column, dataSource), toCompared: lowerCase })
const bits: BuildValueType = ({ length }) => bitType(Number(length) || 1, Number(length) || 1)
const varyingBits: BuildValueType = ({ length }) => bitType(0, Number(length) || Number.POSITIVE_INFINITY)
const hstore: BuildValueType = ({ hstoreType: form }) => (form === 'object' ? hstoreType : hstoreTextType)

/** Column types whose arrays TypeORM cannot write. */
export const postgresWithoutArrays: ReadonlySet<string> = new Set(['json', 'jsonb', 'hstore', 'ltree', 'cube', 'box'])

/**
 * Column types without a useful comparison in PostgreSQL: most have neither an order nor `=`, and the `=` of some
 * geometric types compares areas or lengths.
 */
export const postgresIncomparable: ReadonlySet<string> = new Set([
  ...['json', 'jsonpath', 'xml', 'hstore', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle'],
])

/** Value types of PostgreSQL's column types. */
export const postgresTypes: ValueTypeTable = new Map<string, ValueTypeEntry>([
  ['int', integerType(integerRange(32))],
  ['int4', integerType(integerRange(32))],
  ['integer', integerType(integerRange(32))],
  ['int2', integerType(integerRange(16))],
  ['smallint', integerType(integerRange(16))],
  ['int8', integerType(integerRange(64))],
  ['bigint', integerType(integerRange(64))],
  ['decimal', decimal],
  ['numeric', decimal],
  ['money', decimalType({ whole: 17, fraction: 2, significant: 19, minFraction: 2 })],
  ['real', singleFloatType],
  ['float4', singleFloatType],
  ['float', floatType],
  ['float8', floatType],
  ['double precision', floatType],
  ['bool', booleanType],
  ['boolean', booleanType],
  ['varchar', text],
  ['character varying', text],
  ['char', character],
  ['character', character],
  ['text', text],
  ['citext', citext],
  ['uuid', uuidType],
  ['enum', members],
  ['simple-enum', members],
  ['date', dateType],
  ['time', timeType],
  ['time without time zone', timeType],
  ['timetz', offsetTimeType],
  ['time with time zone', offsetTimeType],
  ['timestamp', timestamp],
  ['timestamp without time zone', timestamp],
  ['timestamptz', timestamp],
  ['timestamp with time zone', timestamp],
  ['interval', intervalType],
  ['json', jsonType],
  ['jsonb', jsonType],
  ['simple-json', jsonType],
  ['simple-array', simpleArrayType],
  ['hstore', hstore],
  ['bit', bits],
  ['varbit', varyingBits],
  ['bit varying', varyingBits],
  ['inet', networkType],
  ['cidr', networkType],
  ['macaddr', macAddressType],
  ['macaddr8', macAddressType],
  ['point', geometricType('(1,2)')],
  ['line', geometricType('{1,2,3}')],
  ['lseg', geometricType('[(0,0),(1,1)]')],
  ['box', geometricType('(1,1),(0,0)')],
  ['path', geometricType('((0,0),(1,1))')],
  ['polygon', geometricType('((0,0),(1,1),(1,0))')],
  ['circle', geometricType('<(0,0),1>')],
  ['tsvector', uncheckedTextType('tsvector', "'fat' 'cat'")],
  ['tsquery', textQueryType],
  ['xml', xmlType],
  ['jsonpath', jsonPathType],
  ['int4range', rangeType('[1,5)')],
  ['int8range', rangeType('[1,5)')],
  ['numrange', decimalRangeType('[1.5,2.5)')],
  ['tsrange', rangeType('["2024-01-01 00:00:00","2024-02-01 00:00:00")')],
  ['tstzrange', rangeType('["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")')],
  ['daterange', rangeType('[2024-01-01,2024-02-01)')],
  ['int4multirange', rangeType('{[1,5)}')],
  ['int8multirange', rangeType('{[1,5)}')],
  ['nummultirange', decimalRangeType('{[1.5,2.5)}')],
  ['tsmultirange', rangeType('{["2024-01-01 00:00:00","2024-02-01 00:00:00")}')],
  ['tstzmultirange', rangeType('{["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")}')],
  ['datemultirange', rangeType('{[2024-01-01,2024-02-01)}')],
  ['cube', cubeType],
  ['ltree', uncheckedTextType('ltree', 'Top.Science', { operators: equalityOperators })],
  ['bytea', 'binary'],
])
