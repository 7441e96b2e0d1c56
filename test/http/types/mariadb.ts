import { renderDateTime } from '../../../src/value/date-time'
import { booleans, decimalRefused, doubles, integers, scaledDecimals, singles } from './numbers'
import type { TypeRow, TypeTable } from './row'
import { bounded, enums, json, simpleArrays, unbounded, uuids } from './texts'
import { dates, dateTimes, times } from './times'

const signed = (types: readonly string[], bits: bigint): TypeRow =>
  integers(types, -(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n)
const unsigned = (types: readonly string[], bits: bigint): TypeRow =>
  integers(types, 0n, 2n ** bits - 1n, { unsigned: true })

/** The last instant of the year 9999 in local time, in which the driver stores it, and in UTC. */
const last = new Date(
  Math.min(new Date(9999, 11, 31, 23, 59, 59, 999).getTime(), Date.parse('9999-12-31T23:59:59.999Z')),
)
const everyDateTime = ['1000-01-01 00:00:00', last.toISOString()] as const

/** TypeORM declares `bit` only without a length, which is 1; the test changes the length with SQL. */
const bits = (length: number): TypeRow => ({
  types: ['bit'],
  ...(length > 1 ? { altered: `bit(${length})` } : {}),
  json: 'string of bits, without leading zeros',
  filters: 'equality',
  same: ['1'.repeat(length), '0', '1'],
  shownAs: [['01'.slice(-length), '1']],
  refused: ['2', '1'.repeat(length + 1), '', 1, true],
  unreadable: ['2', ''],
})

export const mariadbTypes: TypeTable = {
  rows: [
    signed(['tinyint'], 8n),
    signed(['smallint'], 16n),
    signed(['mediumint'], 24n),
    signed(['int', 'integer'], 32n),
    signed(['bigint'], 64n),
    unsigned(['tinyint'], 8n),
    unsigned(['smallint'], 16n),
    unsigned(['mediumint'], 24n),
    unsigned(['int', 'integer'], 32n),
    unsigned(['bigint'], 64n),
    singles(['float'], 1.1754944e-38),
    doubles(['double', 'double precision', 'real'], 2.2250738585072014e-308),
    {
      types: ['decimal', 'dec', 'numeric', 'fixed'],
      json: 'string of at most 10 digits, none after the decimal point',
      filters: 'order',
      same: ['12', '0', '-9999999999'],
      shownAs: [['007', '7']],
      refused: [...decimalRefused, '12.5', '12345678901'],
      unreadable: ['x', ''],
    },
    scaledDecimals(['decimal', 'dec', 'numeric', 'fixed']),
    booleans(['bool', 'boolean']),
    {
      ...dates('1000-01-01'),
      refused: [...dates('').refused, '0999-12-31'],
      strange: [["'0000-00-00'", '0000-00-00']],
    },
    times(['time']),
    {
      ...times(['time'], { precision: 3 }),
      stored: [["'11:20:30.512'", '11:20:30']],
      strange: [["'-10:00:00'", '-10:00:00']],
    },
    { ...dateTimes(['datetime'], everyDateTime), strange: [["'0000-00-00 00:00:00'", 'Invalid Date']] },
    {
      ...dateTimes(['datetime'], everyDateTime, { precision: 3 }),
      refused: [...dateTimes([], ['', '']).refused, '0999-12-31 00:00:00'],
    },
    {
      ...dateTimes(['datetime'], everyDateTime, { precision: 6 }),
      // The driver parses the stored value as local time.
      stored: [["'2020-01-01 10:20:30.999999'", renderDateTime(new Date(2020, 0, 1, 10, 20, 30))]],
    },
    {
      ...dateTimes(['timestamp'], ['1971-01-01 00:00:00', '2038-01-18T03:14:07.999Z'], { precision: 3 }),
      refused: [...dateTimes([], ['', '']).refused, '1969-12-31 00:00:00', '2038-01-20 00:00:00'],
    },
    {
      types: ['year'],
      json: 'number from 1901 to 2155',
      filters: 'order',
      same: [2024, 1901, 2155],
      refused: [1900, 2156, 24, '2024'],
      finds: [['gt', '2023']],
      misses: [['lt', '2024']],
      unreadable: ['24', ''],
      strange: [['0', 0]],
    },
    {
      ...bounded(['char', 'nchar', 'national char']),
      json: 'string of at most that many characters, without spaces at its end',
      same: ['Abc', '', ' x', "o'x", 'a"b', 'a\\b', '%_', '日本é', '😀😀😀😀😀'],
      shownAs: [['a  ', 'a']],
    },
    bounded(['varchar', 'nvarchar', 'national varchar']),
    unbounded(['tinytext', 'text', 'mediumtext', 'longtext']),
    ...enums(['enum', 'simple-enum']),
    {
      types: ['set'],
      options: { enum: ['a', 'b', 'c'] },
      json: 'array of some of its members, in their order',
      filters: 'null',
      same: [['a'], [], ['a', 'b', 'c']],
      shownAs: [
        [
          ['c', 'a'],
          ['a', 'c'],
        ],
      ],
      refused: ['a', ['d'], ['a', 'a'], ['A'], [''], [1]],
    },
    json(['json'], 31),
    json(['simple-json']),
    simpleArrays,
    uuids,
    {
      types: ['inet4'],
      json: 'string',
      filters: 'order',
      same: ['192.168.0.1', '0.0.0.0', '255.255.255.255'],
      refused: ['1.2.3', '::1', '10.0.0.0/8', '', 5],
      unreadable: ['1.2.3', ''],
    },
    {
      types: ['inet6'],
      json: 'string',
      filters: 'order',
      same: ['2001:db8::1', '::1', '::'],
      shownAs: [['2001:DB8:0::1:1', '2001:db8::1:1']],
      refused: ['1.2.3.4', 'x', '::1/64', '', 5],
      unreadable: ['1.2.3', ''],
    },
    bits(1),
    bits(8),
    bits(64),
    { ...bits(1), indexed: true },
    { ...bits(8), indexed: true },
    { ...bits(64), indexed: true },
  ],
  binary: [
    ['blob'],
    ['tinyblob'],
    ['mediumblob'],
    ['longblob'],
    ['binary', { length: 4 }],
    ['varbinary', { length: 4 }],
  ],
  withoutArrays: ['varchar'],
  without: 'geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection vector'.split(
    ' ',
  ),
}
