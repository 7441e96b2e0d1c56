import type { ColumnOptions } from 'typeorm'
import type { Json } from '../../../src/value/kind'
import type { Filter, TypeRow } from './row'

/** Types that more than one driver has, some with bounds of its own. */

const safe = 2n ** 53n - 1n
const jsonOf = (value: bigint): Json => (value >= -safe && value <= safe ? Number(value) : String(value))

export function integers(types: readonly string[], min: bigint, max: bigint, options?: ColumnOptions): TypeRow {
  const isWide = max > safe
  return {
    types,
    ...(options && { options }),
    json: `number from ${min} to ${max}${isWide ? ', a string beyond ±(2^53−1)' : ''}`,
    filters: 'order',
    same: [7, 0, jsonOf(min), jsonOf(max), ...(isWide ? ['9007199254740993', 9007199254740991] : [])],
    refused: [jsonOf(min - 1n), jsonOf(max + 1n), 1.5, '7', true, [7], {}, ''],
    finds: [
      ['eq', '007'],
      ['gt', '6'],
      ['lte', '7'],
      ['in', '6,7'],
    ],
    misses: [
      ['eq', '70'],
      ['lt', '7'],
      ['in', '6,8'],
    ],
    unreadable: [String(max + 1n), '1.0', '7x', '', '0x7'],
  }
}

export function doubles(types: readonly string[], least: number): TypeRow {
  return {
    types,
    json: 'number',
    filters: 'order',
    same: [1.5, 0, -0.25, 0.1, 1 / 3, 1e21, least, -least, Number.MAX_VALUE, -Number.MAX_VALUE],
    refused: ['1.5', true, [1.5], {}],
    finds: [
      ['eq', '15e-1'],
      ['eq', '1.50'],
      ['gt', '1.4999999'],
    ],
    misses: [['eq', '1.5000001']],
    unreadable: ['1e999', 'NaN', 'Infinity', '1,5', ''],
  }
}

export function singles(types: readonly string[], least: number): TypeRow {
  return {
    types,
    json: 'number with the digits that 32 bits hold',
    filters: 'order',
    same: [0.1, 0, -2.5, 16777216, 3.4028235e38, least],
    shownAs: [
      [16777217, 16777216],
      [0.123456789, 0.12345679],
      [3.4e38, 3.4e38],
    ],
    refused: [3.5e38, '0.1', true],
    finds: [['eq', '0.10']],
    misses: [['eq', '0.1001']],
    unreadable: ['1e39', 'x'],
  }
}

export const decimalRefused: readonly Json[] = [5, '1e5', 'NaN', '', '.5', '5.', '+5', ' 5', '1,5', true]

export function booleans(types: readonly string[]): TypeRow {
  return {
    types,
    json: '`true` or `false`',
    filters: 'equality',
    same: [true, false],
    refused: [1, 0, 'true', ''],
    finds: [
      ['eq', 'TRUE'],
      ['eq', '1'],
      ['is', 'true'],
      ['in', 'true,false'],
    ],
    misses: [
      ['eq', '0'],
      ['is', 'false'],
    ],
    unreadable: ['yes', '2', ''],
  }
}

const texts: readonly Json[] = ['Abc', '', ' x ', "o'x", 'a"b', 'a\\b', '%_', '日本é', '😀', 'a\nb']

export function unbounded(types: readonly string[]): TypeRow {
  return {
    types,
    json: 'string',
    filters: 'all',
    same: [...texts, 'x'.repeat(200)],
    refused: [5, true, ['a'], 'a\0b', '\ud800'],
    finds: textFinds,
    misses: textMisses,
    unreadable: ['a\0b'],
  }
}

const textFinds: readonly Filter[] = [
  ['like', 'A%'],
  ['like', '_bc'],
  ['ilike', 'aBC'],
  ['in', '"Abc",x'],
  ['gte', 'Abc'],
]
const textMisses: readonly Filter[] = [
  ['eq', 'abc'],
  ['like', 'a%'],
  ['like', 'b'],
  ['ilike', '%d'],
  ['in', 'x,abc'],
]

/** At most five characters. */
export function bounded(types: readonly string[]): TypeRow {
  const { refused, ...row } = unbounded(types)
  return {
    ...row,
    options: { length: 5 },
    json: 'string of at most that many characters',
    same: [...texts, '😀😀😀😀😀'],
    refused: [...refused, 'abcdef', '😀😀😀😀😀😀'],
  }
}

export function enums(types: readonly string[]): readonly TypeRow[] {
  return [
    {
      types,
      options: { enum: ['small', 'big one', 'a,b', 'x"y', 'é'] },
      json: 'one of its members',
      filters: 'equality',
      same: ['small', 'big one', 'a,b', 'x"y', 'é'],
      refused: ['Small', 'huge', '', 0, 'small '],
      finds: [['in', 'small,"a,b"']],
      misses: [['in', '"a,b"']],
      unreadable: ['huge', ''],
    },
    {
      types,
      options: { enum: [1, 2, 30] },
      json: 'one of its members',
      filters: 'equality',
      same: [1, 2, 30],
      refused: ['1', 3, ''],
      finds: [['in', '1,2']],
      misses: [['eq', '2']],
      unreadable: ['3'],
    },
  ]
}

const deep = (levels: number): Json => (levels === 0 ? 1 : [deep(levels - 1)])
const documents: readonly Json[] = [
  { a: [1, { b: null }], 'é"\\': '😀' },
  'text',
  '5',
  '',
  '"quoted"',
  'null',
  5,
  -0.5,
  1e300,
  true,
  false,
  [],
  {},
  [null, 'x', 2],
]

/** @param levels that the database takes */
export function json(types: readonly string[], levels = 64): TypeRow {
  return {
    types,
    json: 'JSON',
    filters: 'null',
    same: [...documents, deep(levels)],
    refused: [deep(levels + 1), 'a\0', { 'a\0': 1 }, ['\ud800']],
  }
}

export const simpleArrays: TypeRow = {
  types: ['simple-array'],
  json: 'array of strings, which are not empty and hold no comma',
  filters: 'null',
  same: [['a', 'b'], [], ['x y', 'é"', '\\']],
  refused: ['a', [1], [''], ['a,b'], [null], {}],
}

export const uuids: readonly string[] = ['01890a5d-ac96-774b-bcce-b302099a8057', '00000000-0000-0000-0000-000000000000']
export const uuidsRefused: readonly Json[] = [
  '01890a5dac96774bbcceb302099a8057',
  '',
  5,
  '{01890a5d-ac96-774b-bcce-b302099a8057}',
]
