import type { ColumnOptions } from 'typeorm'
import type { Json } from '../../../src/value/value-type'
import type { TypeRow } from './row'

const datesRefused: readonly Json[] = [
  '2023-02-29',
  '0000-01-01',
  '10000-01-01',
  '2024-2-9',
  '2024-02-29 00:00:00',
  '',
  5,
]

export function dates(first: string): TypeRow {
  return {
    types: ['date'],
    json: '`YYYY-MM-DD`',
    filters: 'order',
    same: ['2024-02-29', first, '1969-12-31', '9999-12-31'],
    refused: datesRefused,
    finds: [
      ['gte', '2024-02-29'],
      ['lt', '2024-03-01'],
    ],
    misses: [
      ['lt', '2024-02-29'],
      ['gt', '2024-02-29'],
    ],
    unreadable: ['2024-02-30', '2024', 'today', ''],
  }
}

export function times(types: readonly string[], options?: ColumnOptions): TypeRow {
  return {
    types,
    ...(options && { options }),
    json: '`HH:MM:SS`',
    filters: 'order',
    same: ['10:20:30', '00:00:00', '23:59:59'],
    shownAs: [['10:20', '10:20:00']],
    refused: ['24:00:00', '10:20:60', '10:20:30.5', '10', '', 5],
    finds: [
      ['lte', '10:20:30'],
      ['lt', '10:20:31'],
    ],
    misses: [
      ['gt', '10:20:30'],
      ['eq', '10:20:31'],
    ],
    unreadable: ['24:00', 'noon'],
  }
}

const dateTimesRefused: readonly Json[] = [
  '2023-02-29 00:00:00',
  '2024-01-01 24:00:00',
  '0000-12-31 23:59:59',
  'now',
  '',
  5,
]

/** Date-time types. @param bounds the first second, and the last instant as it is sent */
export function dateTimes(
  types: readonly string[],
  [first, last]: readonly [string, string],
  options?: ColumnOptions,
): TypeRow {
  return {
    types,
    ...(options && { options }),
    json: '`YYYY-MM-DD HH:MM:SS` in UTC',
    filters: 'order',
    same: ['2024-02-29 10:20:30', first, '2024-06-30 23:59:59', '1970-01-02 00:00:01'],
    shownAs: [
      ['2024-07-01T10:20:30Z', '2024-07-01 10:20:30'],
      ['2024-07-01T10:20:30.25+02:00', '2024-07-01 08:20:30'],
      ['2024-07-01', '2024-07-01 00:00:00'],
      [last, last.slice(0, 19).replace('T', ' ')],
    ],
    refused: dateTimesRefused,
    finds: [
      ['eq', '2024-02-29T10:20:30Z'],
      ['lte', '2024-02-29 10:20:30'],
      ['lt', '2024-02-29 10:20:31'],
      ['gt', '2024-02-29T10:20:29.999Z'],
    ],
    misses: [
      ['gt', '2024-02-29 10:20:30'],
      ['eq', '2024-02-29 10:20:31'],
    ],
    unreadable: ['2024-02-30 00:00:00', 'now', ''],
  }
}
