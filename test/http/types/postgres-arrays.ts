import type { ColumnOptions } from 'typeorm'
import type { Json } from '../../../src/value/value-type'
import type { TypeRow } from './row'
import { someUuids } from './texts'

/** Array types. @param members as they are shown @param wrong values that are not valid arrays */
function arrays(
  types: readonly string[],
  members: readonly Json[],
  wrong: readonly Json[],
  options: ColumnOptions = {},
): TypeRow {
  return {
    types,
    options: { ...options, array: true },
    json: 'array of these values and nulls',
    filters: 'null',
    same: [members, [], [null, ...members.slice(0, 1)]],
    refused: [...wrong.map((one) => [one]), [members], members[0] ?? '', {}],
  }
}

export const postgresArrays: readonly TypeRow[] = [
  arrays(['int', 'integer', 'int4', 'smallint', 'int2'], [5, -7, 0], [1.5, '5', 2 ** 31]),
  arrays(['bigint', 'int8'], [5, '9007199254740993'], ['5', true]),
  arrays(['numeric', 'decimal'], ['12.50', '0.0000001', '-3', '123456789012345678901234567890'], [5, 'x']),
  arrays(['money'], ['12.50', '-1234.56'], [5]),
  arrays(['real', 'float4'], [0.1, 16777216], ['1', 1e39]),
  arrays(['float', 'float8', 'double precision'], [0.1, 5e-324, 1.7976931348623157e308], ['1']),
  arrays(['bool', 'boolean'], [true, false], [1, 'true']),
  arrays(
    ['text', 'varchar', 'character varying', 'citext'],
    ['a,b', '"q"', '\\', 'NULL', '', ' x ', '{}', '😀'],
    [5, 'a\0'],
  ),
  arrays(['varchar'], ['a,b', 'NULL'], ['abcdef'], { length: 5 }),
  arrays(['char'], ['ab', '  '], ['abc'], { length: 2 }),
  arrays(['uuid'], someUuids, ['x']),
  arrays(['enum', 'simple-enum'], ['big one', 'a,b', '"q"', 'NULL'], ['x'], {
    enum: ['big one', 'a,b', '"q"', 'NULL'],
  }),
  arrays(['enum'], [1, 2], ['1', 3], { enum: [1, 2] }),
  arrays(['date'], ['2024-02-29', '0001-01-01', '9999-12-31'], ['2023-02-29']),
  arrays(['time', 'time without time zone'], ['10:20:30', '00:00:00'], ['24:00:00']),
  arrays(['timetz'], ['10:20:30+02'], ['x']),
  arrays(
    ['timestamp', 'timestamp without time zone', 'timestamptz', 'timestamp with time zone'],
    ['2024-02-29 10:20:30', '1700-01-01 00:00:00', '0001-01-02 00:00:00'],
    ['2023-02-29 00:00:00'],
  ),
  arrays(['interval'], ['1 day 02:30:00', '-1 days'], ['soon']),
  arrays(['inet'], ['192.168.0.1', '10.0.0.0/8'], ['x']),
  arrays(['cidr'], ['10.0.0.0/8'], ['x']),
  arrays(['macaddr'], ['08:00:2b:01:02:03'], ['x']),
  arrays(['macaddr8'], ['08:00:2b:ff:fe:01:02:03'], ['x']),
  arrays(['point'], ['(1,2)'], ['x']),
  arrays(['bit'], ['10'], ['1'], { length: 2 }),
  arrays(['varbit'], ['10', ''], ['2']),
  arrays(['xml'], ['<a/>', '<b>,"</b>'], [5]),
  arrays(['tsvector'], ["'cat' 'fat'"], [5]),
  arrays(['int4range'], ['[1,5)', 'empty'], ['x']),
  arrays(['tsrange'], ['["2024-01-01 00:00:00","2024-02-01 00:00:00")'], ['x']),
  arrays(['int4multirange'], ['{[1,5)}', '{}'], ['x']),
]
