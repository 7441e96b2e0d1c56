import type { Json } from '../../../src/value/value-type'
import type { Filter, TypeRow } from './row'

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

/** Texts of at most five characters. */
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
  { a: [1, { b: null }] },
  { 'é"\\': '😀' },
  'text',
  '5',
  '',
  '"quoted"',
  'null',
  5,
  -0.5,
  2 ** 53 - 1,
  -1e-300,
  1e300,
  -6.02e23,
  true,
  false,
  [],
  {},
  [null, 'x', 2],
]

/** JSON types. @param levels of nesting that the database supports */
export function json(types: readonly string[], levels = 64): TypeRow {
  return {
    types,
    json: 'JSON',
    filters: 'null',
    same: [...documents, deep(levels)],
    refused: [deep(levels + 1), 'a\0', { 'a\0': 1 }, ['\ud800'], 2 ** 53, { a: [-(2 ** 53)] }, 1e20],
  }
}

export const simpleArrays: TypeRow = {
  types: ['simple-array'],
  json: 'array of strings, which are not empty and contain no comma',
  filters: 'null',
  same: [['a', 'b'], [], ['x y', 'é"', '\\']],
  refused: ['a', [1], [''], ['a,b'], [null], {}],
}

export const someUuids: readonly string[] = [
  '01890a5d-ac96-774b-bcce-b302099a8057',
  '00000000-0000-0000-0000-000000000000',
]

const uuid = { types: ['uuid'], filters: 'equality', unreadable: ['x', ''] } as const
const uuidsRefused: readonly Json[] = ['01890a5dac96774bbcceb302099a8057', '', 5, `{${someUuids[0]}}`]

/** UUIDs on a database with the type. */
export const uuids: TypeRow = {
  ...uuid,
  json: 'string in lower case',
  same: someUuids,
  shownAs: [['01890A5D-AC96-774B-BCCE-B302099A8058', '01890a5d-ac96-774b-bcce-b302099a8058']],
  refused: uuidsRefused,
  finds: [['eq', '01890A5D-AC96-774B-BCCE-B302099A8057']],
}

/** UUIDs on a database that stores them as text. */
export const uuidTexts: TypeRow = {
  ...uuid,
  json: 'string, in the case that was sent',
  same: [...someUuids, '01890A5D-AC96-774B-BCCE-B302099A8057'],
  refused: uuidsRefused,
}
