import type { TypeRow } from './row'

const bits = (length: number): TypeRow => ({
  types: ['bit'],
  options: { length },
  json: 'string of exactly that many bits',
  filters: 'equality',
  same: ['1'.repeat(length), '0'.repeat(length)],
  refused: ['2'.repeat(length), '1'.repeat(length + 1), '', 1, true],
  unreadable: ['2', ''],
})

/** Types whose values are text in PostgreSQL's format. @param shown a value as it is shown @param sent another way to write it */
const spelled = (
  type: string,
  shown: readonly string[],
  sent: string,
  wrong: string,
  filters: TypeRow['filters'],
): TypeRow => ({
  types: [type],
  json: 'string as PostgreSQL writes it',
  filters,
  same: shown,
  shownAs: [[sent, shown[0] ?? '']],
  refused: [wrong, 5, 'a\0', {}],
  ...(filters === 'null' ? {} : { finds: [['eq', sent]], unreadable: [wrong] }),
})

const range = (type: string, shown: string, sent: string): TypeRow =>
  spelled(type, [shown, type.includes('multi') ? '{}' : 'empty'], sent, '[', 'order')

/** A bound with an exponent would be shown with all of its digits. */
const decimalRange = (type: string, shown: string, sent: string): TypeRow => {
  const row = range(type, shown, sent)
  return {
    ...row,
    refused: [...row.refused, '[1e9,)', '[1.E131000,)', '{[1,"2e5"]}', '[0,1"e"131000)', '[0,1\\e131000)', '["1",2)'],
  }
}

export const postgresOwn: readonly TypeRow[] = [
  bits(1),
  bits(8),
  bits(64),
  {
    types: ['varbit', 'bit varying'],
    json: 'string of bits',
    filters: 'equality',
    same: ['101', '', '0'],
    refused: ['2', 1, true],
    unreadable: ['2'],
  },
  {
    types: ['inet'],
    json: 'string, with `/bits` for a network',
    filters: 'order',
    same: ['192.168.0.1', '10.0.0.0/8', '::1', '2001:db8::/32'],
    shownAs: [['2001:DB8:0::1', '2001:db8::1']],
    refused: ['1.2.3', '1.2.3.4/33', 'x', '', 5],
    finds: [['eq', '192.168.0.1/32']],
    unreadable: ['x'],
  },
  {
    types: ['cidr'],
    json: 'string with `/bits`',
    filters: 'order',
    same: ['10.0.0.0/8', '2001:db8::/32'],
    shownAs: [['192.168.0.1', '192.168.0.1/32']],
    refused: ['10.0.0.1/8', 'x', 5],
    unreadable: ['x'],
  },
  spelled('macaddr', ['08:00:2b:01:02:03'], '08-00-2B-01-02-03', '08:00:2b', 'order'),
  spelled('macaddr8', ['08:00:2b:ff:fe:01:02:03'], '08:00:2B:01:02:03', '08:00:2b', 'order'),
  spelled('point', ['(1,2.5)'], '( 1 , 2.5 )', '(1)', 'null'),
  spelled('line', ['{1,2,3}'], '{ 1, 2, 3 }', '{0,0,1}', 'null'),
  spelled('lseg', ['[(0,0),(1,1)]'], '((0,0),(1,1))', '(1)', 'null'),
  spelled('box', ['(1,1),(0,0)'], '(0,0),(1,1)', '(1)', 'null'),
  spelled('path', ['((0,0),(1,1))', '[(0,0),(1,1)]'], '(0,0),(1,1)', '(1)', 'null'),
  spelled('polygon', ['((0,0),(1,1),(1,0))'], '(0,0),(1,1),(1,0)', '(1)', 'null'),
  spelled('circle', ['<(0,0),1>'], '((0,0),1)', '(1)', 'null'),
  spelled('tsvector', ["'cat' 'fat'"], 'fat cat', "'", 'null'),
  {
    ...spelled('tsquery', ["'fat' & 'cat'"], 'fat&cat', 'fat &', 'null'),
    refused: [
      'fat &',
      '!'.repeat(1500),
      `${'!'.repeat(1500)}a`,
      `${'a<->('.repeat(1500)}`,
      `${'a&'.repeat(100_000)}a`,
      5,
    ],
  },
  { ...spelled('xml', ['<a/>', '<a>é&amp;</a>'], '<a/>', '<a>', 'null') },
  {
    ...spelled(
      'jsonpath',
      ['$."a"', '1000', '$."phone"."e164"', '($."a" == "550e8400-e29b-41d4-a716-446655440000")', '$."a1e200"'],
      '$.a',
      '$.',
      'null',
    ),
    refused: [
      '$.',
      '1e131000',
      '$ + 1e-200',
      '$ + .5e100',
      '$.a + "x" + 1.5e100',
      '1_0e1_3_1_0',
      '$.a ? (/*"*/ @ > 1e131000 /*"*/)',
      `${'$+'.repeat(50_000)}1`,
      5,
    ],
  },
  spelled('ltree', ['Top.Science', 'a'], 'Top.Science.', 'a!', 'equality'),
  range('int4range', '[1,5)', '[1,4]'),
  range('int8range', '[1,5)', '(0,4]'),
  decimalRange('numrange', '[1.5,2.5)', '[1.5 , 2.5)'),
  range('tsrange', '["2024-01-01 00:00:00","2024-02-01 00:00:00")', '[2024-01-01,2024-02-01)'),
  range('tstzrange', '["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")', '[2024-01-01Z,2024-02-01Z)'),
  range('daterange', '[2024-01-01,2024-02-01)', '[2024-01-01,2024-01-31]'),
  range('int4multirange', '{[1,5)}', '{[1,2],[3,4]}'),
  range('int8multirange', '{[1,5)}', '{(0,4]}'),
  decimalRange('nummultirange', '{[1.5,2.5)}', '{[1.5,2],[2,2.5)}'),
  range('tsmultirange', '{["2024-01-01 00:00:00","2024-02-01 00:00:00")}', '{[2024-01-01,2024-02-01)}'),
  range('tstzmultirange', '{["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")}', '{[2024-01-01Z,2024-02-01Z)}'),
  range('datemultirange', '{[2024-01-01,2024-02-01)}', '{[2024-01-01,2024-01-31]}'),
  {
    types: ['hstore'],
    options: { hstoreType: 'string' },
    json: 'string as PostgreSQL writes it',
    filters: 'null',
    same: ['"a"=>"1"', '', '"a"=>NULL, "b"=>"x"'],
    shownAs: [['a=>1', '"a"=>"1"']],
    refused: ['a=>', '\u00a0', '\v', '\ufeff', '"a"=>"1"\u00a0', '"a"\u2003=>"1"', 5, {}],
  },
  {
    types: ['hstore'],
    options: { hstoreType: 'object' },
    json: 'object of strings and nulls',
    filters: 'null',
    same: [{ a: '1', b: null }, {}, { 'é"\\': 'x"\\,=>', '': '' }],
    refused: [{ a: 1 }, ['a'], 'a=>1', 5, { a: 'x\0' }],
  },
  {
    types: ['cube'],
    json: 'array of numbers',
    filters: 'null',
    same: [[1, 2.5], [0], [1e-7, -1e21]],
    refused: [[], ['1'], 5, [[1]], '(1)'],
  },
]
