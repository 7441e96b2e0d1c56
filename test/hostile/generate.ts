import fc from 'fast-check'

/** A request that fast-check can shrink and print. */
export interface Generated {
  readonly line: string
  readonly as?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

/** Names of no field, which have a meaning in JavaScript, SQL or this service. */
export const strangeNames = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  '__',
  '____',
  '_',
  '',
  'id__',
  '__id',
  'id__eq__eq',
  'note.id',
  'note"."id',
  'id;--',
  "id' OR 1=1--",
  'authorId',
  'NOTE',
  'limit__eq',
  'page__eq',
  'ordering__in',
  'limit[]',
  'select',
  'é',
]

const sql = [
  "' OR 1=1--",
  "'; DROP TABLE note;--",
  ') UNION SELECT password FROM "user"--',
  '"; SELECT pg_sleep(9)--',
  "\\'; --",
  '`',
  '$1',
  '$999',
  ':p0',
  ':...p1',
  '?',
  '/*',
  '%s',
  "E'\\x00'",
]

const numbers = [
  '0',
  '-0',
  '5',
  '-1',
  '007',
  '+5',
  '1.5',
  '.5',
  '5.',
  '1e3',
  '1e400',
  '-1e400',
  '1e-400',
  '0x10',
  'NaN',
  'Infinity',
  '-Infinity',
  '2147483647',
  '2147483648',
  '-2147483649',
  '32768',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '99999999999999999999999999',
  '12.50',
  '9999.99',
  '10000',
  '0.001',
  '1_000',
  '1,5',
  '٣',
]

const times = [
  '2024-01-01',
  '2024-02-29',
  '2024-02-30',
  '2023-02-29',
  '0000-00-00',
  '0000-01-01',
  '0001-01-01',
  '-000001-01-01',
  '9999-12-31',
  '10000-01-01',
  '275760-09-13',
  '2024-13-01',
  '2024-01-01 10:20:30',
  '2024-01-01 10:20:30.512',
  '2024-01-01T10:20:30+02:00',
  '2024-01-01T10:20:30.1234567Z',
  '2024-01-01 24:00:00',
  '2024-01-01 10:20:60',
  '9999-12-31T23:59:59-23:59',
  '0001-01-01T00:00:00+14:00',
  '10:20:30',
  '10:20',
  '24:00:00',
  '-01:00:00',
  '838:59:59',
  'now',
  'infinity',
  'epoch',
]

const words = ['', ' ', 'true', 'FALSE', 'null', 'none', 'not_null', 'draft', 'final', 'bob', 'alpha', 'épée', 'a,b']
const lists = ['a,b', '"a,b",c', '"', '"a', '"a"b', ',', ',,', '1,2,3', '1,x', '"a""b"', 'true,false', ' 1 , 2 ']

const pattern = fc
  .array(fc.constantFrom('%', '_', '\\', '\\\\', 'a', 'B', 'é', '*', '?', '[', ']', "'", '😀'), { maxLength: 12 })
  .map((parts) => parts.join(''))
const long = fc.tuple(fc.constantFrom('x', '%', '_a', '\\', '1,', 'é', '(', '0'), fc.integer({ min: 1, max: 2100 }))
const longText = long.map(([text, length]) => text.repeat(Math.ceil(length / text.length)))

/** Value of a filter, not yet encoded. */
export const value: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...words) },
  { weight: 6, arbitrary: fc.constantFrom(...numbers) },
  { weight: 4, arbitrary: fc.constantFrom(...times) },
  { weight: 2, arbitrary: fc.constantFrom(...lists) },
  { weight: 2, arbitrary: fc.constantFrom(...sql) },
  { weight: 3, arbitrary: pattern },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.toWellFormed()) },
  { weight: 2, arbitrary: fc.integer().map(String) },
  { weight: 1, arbitrary: fc.double().map(String) },
  { weight: 1, arbitrary: fc.uuid() },
  { weight: 1, arbitrary: longText },
)

/** Raw values that are not UTF-8 or not percent-encoded. */
export const rawGarbage = fc.constantFrom(
  '\\',
  '%',
  '%z',
  '%zz',
  '%ff',
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%ED%B0%80x',
  '%c0%af',
  '%F4%90%80%80',
  '%F0%9F%98',
  '%25',
  '%2525',
  '+',
  '%2B',
  '%0d%0aX-Set:1',
  '=',
  '==',
  ';',
  '?',
  '%EF%BB%BFx',
)

/** Value as part of a query string, usually correctly encoded. */
export const encodedValue = fc.oneof(
  { weight: 9, arbitrary: value.map(encodeURIComponent) },
  { weight: 1, arbitrary: rawGarbage },
)

/** Ways to write a value in a group: as it is, in quotes, or in a list. */
const spelled = fc.constantFrom<((value: string) => string)[]>(
  (value) => value,
  (value) => value,
  (value) => `%22${value.replaceAll('%22', '%22%22')}%22`,
  (value) => `(${value})`,
  (value) => `(${value},${value})`,
)

/** End of a group: correct ones and wrong ones. */
const closing = fc.oneof(
  { weight: 20, arbitrary: fc.constant(')') },
  { weight: 1, arbitrary: fc.constantFrom('', '))', ',)', ')x', '()', '%22', ':') },
)

/** Group of filters. @param filter a parameter: `name=value` */
const groupOf = (filter: fc.Arbitrary<string>, depth: number): fc.Arbitrary<string> => {
  const one = fc.tuple(filter, spelled).map(([parameter, spell]) => {
    const [name = '', value = ''] = parameter.split(/=(.*)/s)
    return `${name}:${spell(value)}`
  })
  const nested =
    depth === 0 ? one : fc.oneof({ weight: 1, arbitrary: groupOf(filter, depth - 1) }, { weight: 3, arbitrary: one })
  return fc
    .tuple(fc.constantFrom('or', 'or', 'and', 'not'), fc.array(nested, { minLength: 0, maxLength: 3 }), closing)
    .map(([type, members, close]) => `${type}(${members.join()}${close}`)
}
/** Parameter that combines filters. @param filter a parameter: `name=value` */
export const groupParameter = (filter: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 9, arbitrary: groupOf(filter, 2).map((text) => text.replace('(', '=(')) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'or',
        'or=',
        'and=x',
        'not=()',
        'or=((',
        'or=%22',
        `or=${'(or'.repeat(99)}`,
        `or=${'('.repeat(1500)}`,
      ),
    },
  )

/** Parameter that requests a count, with some wrong ones. */
export const countParameter = fc.constantFrom('count=exact', 'count=capped', 'count=exact&limit=0', 'count=', 'count=1')
