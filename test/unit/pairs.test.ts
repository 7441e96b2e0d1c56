import fc from 'fast-check'
import { ApiError } from '../../src/errors'
import { parsePairs } from '../../src/request/pairs'

test.each([
  ['', []],
  [
    'a=1&b=2',
    [
      ['a', '1'],
      ['b', '2'],
    ],
  ],
  [
    'a=1&a=2',
    [
      ['a', '1'],
      ['a', '2'],
    ],
  ],
  ['a', [['a', '']]],
  ['a=', [['a', '']]],
  ['=a', [['', 'a']]],
  ['a=b=c', [['a', 'b=c']]],
  ['&&a=1&', [['a', '1']]],
  ['a+b=c+d', [['a b', 'c d']]],
  ['a%20b=%2B%26%3D', [['a b', '+&=']]],
  ['a=%C3%A9', [['a', 'é']]],
  ['a=%EF%BB%BFb', [['a', '\ufeffb']]],
  ['a=\xc3\xa9', [['a', 'é']]],
])('%j is parsed as %j', (text, expected) => {
  expect(parsePairs(text, 50, 'bad-query').map(({ name, value }) => [name, value])).toEqual(expected)
})

test.each(['%', 'a=%', 'a=%2', 'a=%zz', '%ff=1', 'a=%c3', 'a=%c3%28', 'a=%ed%a0%80', 'a=\xe9'])(
  '%j is invalid',
  (text) => {
    expect(() => parsePairs(text, 50, 'bad-query')).toThrow(ApiError)
  },
)

test('parses what URLSearchParams writes', () => {
  const word = fc.string({ unit: 'grapheme' }).map((text) => text.toWellFormed())
  const property = fc.property(fc.array(fc.tuple(word, word), { maxLength: 5 }), (pairs) => {
    const read = parsePairs(
      new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString(),
      50,
      'bad-query',
    )
    expect(read.map(({ name, value }) => [name, value])).toEqual(pairs)
  })
  fc.assert(property, { numRuns: 2000, seed: 4 })
})
