import { booleans, decimalRefused, doubles, integers } from './numbers'
import type { TypeTable } from './row'
import { bounded, enums, json, simpleArrays, unbounded, uuidTexts } from './texts'
import { dates, dateTimes, times } from './times'

const safe = 2n ** 53n - 1n
const stored = [
  ["'10:20:30.512'", '10:20:30'],
  ["'10:20:30.999'", '10:20:30'],
] as const

export const sqliteTypes: TypeTable = {
  rows: [
    integers(['tinyint'], -128n, 127n),
    integers(['smallint', 'int2'], -32768n, 32767n),
    integers(['mediumint'], -8388608n, 8388607n),
    integers(['int', 'integer'], -safe, safe),
    integers(['bigint', 'int8'], -(2n ** 63n), 2n ** 63n - 1n),
    integers(['unsigned big int'], 0n, 2n ** 63n - 1n),
    doubles(['real', 'float', 'double', 'double precision'], 5e-324),
    {
      types: ['decimal', 'numeric'],
      json: 'string of at most 15 digits',
      filters: 'order',
      same: ['12.5', '0', '-0.1', '0.0000001', '123456789012345', '0.123456789012345', '-12345678901234.5'],
      shownAs: [
        ['-0.10', '-0.1'],
        ['007', '7'],
        ['-0', '0'],
        ['3.000', '3'],
      ],
      refused: [...decimalRefused, '1234567890123456', '1.234567890123456'],
      finds: [['eq', '12.50']],
      misses: [['gt', '12.5']],
      unreadable: ['x', '1e1', ''],
    },
    {
      types: ['decimal', 'numeric'],
      options: { precision: 30, scale: 2 },
      json: 'string of at most 15 digits, with the decimals of its scale',
      filters: 'order',
      same: ['12.50', '0.00', '-0.10', '9999999999999.99'],
      shownAs: [
        ['1234567890123', '1234567890123.00'],
        ['-0.1', '-0.10'],
      ],
      refused: [...decimalRefused, '12345678901234.56', '0.001'],
      finds: [['eq', '12.5']],
      misses: [['gt', '12.5']],
      unreadable: ['0.001'],
    },
    ...[4, 15].map((digits) => ({
      types: ['decimal'],
      options: { precision: digits, scale: digits },
      json: 'string of at most 15 digits, with the decimals of its scale',
      filters: 'order' as const,
      same: ['0.2500'.padEnd(2 + digits, '0'), '0.0000'.padEnd(2 + digits, '0')],
      shownAs: [['0.5', '0.5000'.padEnd(2 + digits, '0')]] as const,
      refused: [...decimalRefused, '1'],
      finds: [['eq', '0.25']] as const,
      misses: [['gt', '0.25']] as const,
      unreadable: [],
    })),
    booleans(['boolean']),
    bounded(['character', 'varchar', 'varying character', 'nchar', 'native character', 'nvarchar']),
    unbounded(['text', 'clob']),
    uuidTexts,
    ...enums(['simple-enum']),
    {
      types: ['simple-enum'],
      options: { enum: ['a', 'b', 'c'], array: true },
      json: 'array of some of its members (TypeORM 1.1)',
      filters: 'null',
      same: [['a'], [], ['c', 'a']],
      refused: ['a', ['d'], ['a', 'a'], [null]],
      since: '1.1',
    },
    {
      ...dates('0001-01-01'),
      stored: [["'2024-02-28 23:59:59.999'", '2024-02-28']],
      strange: [["'someday'", 'someday']],
    },
    { ...times(['time']), stored, strange: [["'noon'", 'noon']] },
    {
      ...dateTimes(['datetime'], ['0001-01-01 00:00:00', '9999-12-31T23:59:59.999Z']),
      stored: [
        ["'2020-01-01 10:20:30'", '2020-01-01 10:20:30'],
        ["'2020-01-01 10:20:30.512'", '2020-01-01 10:20:30'],
        ["'2024-02-29 10:20:30.512'", '2024-02-29 10:20:30'],
        ["'2000-02-29 10:20:30'", '2000-02-29 10:20:30'],
      ],
      strange: [
        ["'Invalid'", 'Invalid'],
        // A day that the month does not have becomes a day of the next month, as in JavaScript.
        ["'2023-02-29 10:20:30'", '2023-03-01 10:20:30'],
        ["'1900-02-29 10:20:30'", '1900-03-01 10:20:30'],
        ["''", ''],
      ],
    },
    { ...json(['json']), strange: [["'{broken'", '{broken']] },
    { ...json(['jsonb']), since: '1.1' },
    { ...json(['simple-json']), strange: [["'{broken'", '{broken']] },
    simpleArrays,
  ],
  binary: [['blob']],
  without: [],
  withoutArrays: ['varchar'],
}
