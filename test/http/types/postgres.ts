import { renderDateTime } from '../../../src/value/date-time'
import { booleans, decimalRefused, doubles, integers, scaledDecimals, singles } from './numbers'
import { postgresArrays } from './postgres-arrays'
import { postgresOwn } from './postgres-own'
import type { TypeTable } from './row'
import { bounded, enums, json, simpleArrays, unbounded, uuids } from './texts'
import { dates, dateTimes, times } from './times'

const everyInstant = ['0001-01-01 00:00:00', '9999-12-31T23:59:59.999Z'] as const
const timestamps = ['timestamp', 'timestamp without time zone', 'timestamptz', 'timestamp with time zone'] as const
const infinite = [
  ["'infinity'", 'infinity'],
  ["'-infinity'", '-infinity'],
] as const

export const postgresTypes: TypeTable = {
  rows: [
    integers(['smallint', 'int2'], -32768n, 32767n),
    integers(['int', 'integer', 'int4'], -(2n ** 31n), 2n ** 31n - 1n),
    integers(['bigint', 'int8'], -(2n ** 63n), 2n ** 63n - 1n),
    singles(['real', 'float4'], 1e-45),
    doubles(['float', 'float8', 'double precision'], 5e-324),
    {
      types: ['decimal', 'numeric'],
      json: 'string of at most 100 digits',
      filters: 'order',
      same: ['12.5', '0', '-0.10', '0.0000001', '123456789012345678901234567890.000000000000000000000000000001'],
      shownAs: [
        ['007', '7'],
        ['-0', '0'],
      ],
      refused: decimalRefused,
      finds: [['eq', '12.50']],
      misses: [['gt', '12.5']],
      unreadable: ['x', '1e1', ''],
      strange: [["'NaN'", 'NaN']],
    },
    scaledDecimals(['decimal', 'numeric']),
    {
      types: ['money'],
      json: 'string with the decimals of the currency',
      filters: 'order',
      same: ['12.50', '0.00', '-1234.56', '92233720368547758.07'],
      shownAs: [['5', '5.00']],
      refused: [...decimalRefused, '92233720368547758.08', '0.001', '$5.00'],
      finds: [['eq', '12.5']],
      misses: [['gt', '12.50']],
      unreadable: ['$12.50'],
    },
    booleans(['bool', 'boolean']),
    bounded(['varchar', 'character varying']),
    {
      ...bounded(['char', 'character']),
      json: 'string of exactly that many characters, padded with spaces',
      same: ['Abcde', '     ', " o'x ", 'a\\b"c', '日本é%_', '😀😀😀😀😀'],
      shownAs: [
        ['', '     '],
        ['ab', 'ab   '],
      ],
      finds: [
        ['like', 'A%'],
        ['ilike', 'aBC%'],
        ['eq', 'Abcde'],
      ],
    },
    unbounded(['text']),
    {
      ...unbounded(['citext']),
      finds: [
        ['eq', 'aBC'],
        ['in', 'ABC,x'],
        ['like', 'A%'],
        ['ilike', 'aBC'],
      ],
      misses: [
        ['like', 'a%'],
        ['ne', 'ABC'],
      ],
    },
    uuids,
    ...enums(['enum', 'simple-enum']),
    { ...dates('0001-01-01'), strange: [...infinite, ["'0044-03-15 BC'", '0044-03-15 BC']] },
    {
      ...times(['time', 'time without time zone']),
      stored: [["'11:20:30.512'", '11:20:30']],
      strange: [["'24:00:00'", '24:00:00']],
    },
    {
      types: ['timetz', 'time with time zone'],
      json: 'string: the time with its offset from UTC',
      filters: 'order',
      same: ['10:20:30+02', '00:00:00+00', '23:59:59.5-03:30'],
      shownAs: [
        ['10:20Z', '10:20:00+00'],
        ['10:20:30+02:00', '10:20:30+02'],
      ],
      refused: ['10:20:30', '25:00:00+00', '', 5],
      finds: [['lt', '10:20:30.001+02']],
      misses: [['eq', '08:20:30+00']],
      unreadable: ['10:20:30'],
    },
    {
      ...dateTimes(['timestamp', 'timestamp without time zone'], everyInstant),
      // The driver parses the stored value as local time.
      stored: [["'2020-01-01 10:20:30.999999'", renderDateTime(new Date(2020, 0, 1, 10, 20, 30))]],
      strange: [["'infinity'", 'Infinity']],
    },
    {
      ...dateTimes(['timestamptz', 'timestamp with time zone'], everyInstant),
      stored: [["'2020-01-01 10:20:30.000001Z'", '2020-01-01 10:20:30']],
      strange: [
        ["'-infinity'", '-Infinity'],
        ["'20000-01-01 00:00:00Z'", '+020000-01-01 00:00:00'],
        ["'0044-03-15 00:00:00Z BC'", '-000043-03-15 00:00:00'],
      ],
    },
    {
      ...dateTimes(timestamps, everyInstant, { precision: 0 }),
      shownAs: [['2024-07-01T10:20:30.5Z', '2024-07-01 10:20:31']],
    },
    dateTimes(timestamps, everyInstant, { precision: 3 }),
    {
      types: ['interval'],
      json: 'string as PostgreSQL writes it',
      filters: 'order',
      same: ['1 day 02:30:00', '00:00:00', '-1 days', '1 year 2 mons', '00:00:00.5'],
      shownAs: [['P1DT2H30M', '1 day 02:30:00']],
      refused: [5, 'soon', '', '1 fortnight'],
      finds: [
        ['lt', '2 days'],
        ['eq', '26:30:00'],
      ],
      misses: [['gt', 'P1DT2H30M']],
      unreadable: ['soon'],
    },
    json(['json', 'jsonb', 'simple-json']),
    simpleArrays,
    ...postgresOwn,
    ...postgresArrays,
  ],
  binary: [['bytea']],
  withoutArrays: ['json', 'jsonb', 'hstore', 'ltree', 'cube', 'box'],
  without: ['geometry', 'geography', 'vector', 'halfvec'],
}
