import fc from 'fast-check'
import { operatorNames } from '../../src/value/value-type'
import {
  countParameter,
  encodedValue,
  type Generated,
  groupParameter,
  rawGarbage,
  strangeNames,
  value,
} from './generate'

/** Requests on the entities of `test/world`, with their shown and hidden fields. */

interface ResourceFields {
  readonly shown: readonly string[]
  readonly hidden: readonly string[]
  readonly relations: readonly string[]
}

const fieldsByResource = {
  note: {
    shown: [
      'id',
      'title',
      'body',
      'score',
      'rank',
      'published',
      'weight',
      'price',
      'big',
      'day',
      'at',
      'status',
      'extra',
      'tags',
      'created',
      'limit',
      'author',
      'author_id',
      'parent',
      'parent_id',
    ],
    hidden: ['secret', 'picture', 'vault', 'vault_id', 'vaultId', 'vault__code'],
    relations: ['author', 'parent'],
  },
  message: {
    shown: ['id', 'message', 'created', 'stamp', 'user', 'user_id', 'note', 'note_id'],
    hidden: ['user__email', 'note__vault__code'],
    relations: ['user', 'note'],
  },
  user: { shown: ['id', 'username', 'admin', 'active'], hidden: ['password', 'email'], relations: [] },
  language: { shown: ['id', 'code', 'name'], hidden: [], relations: [] },
  word: { shown: ['id', 'text', 'language', 'language_id'], hidden: [], relations: ['language'] },
} satisfies Record<string, ResourceFields>

/** The resources of `test/world`. */
export const resources = ['note', 'message', 'user', 'language', 'word'] as const
export type ResourceName = (typeof resources)[number]

const shownNames = [...new Set(resources.flatMap((name) => fieldsByResource[name].shown))]
const hiddenNames = [...new Set(resources.flatMap((name) => fieldsByResource[name].hidden))]
const relationNames = [...new Set(resources.flatMap((name) => fieldsByResource[name].relations))]

const strange = fc.oneof(fc.constantFrom(...strangeNames), fc.string({ unit: 'grapheme', maxLength: 10 }))

const fieldOf = (resource: ResourceName): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...fieldsByResource[resource].shown) },
    { weight: 2, arbitrary: fc.constantFrom(...shownNames) },
    { weight: 2, arbitrary: fc.constantFrom(...hiddenNames) },
    { weight: 1, arbitrary: strange },
  )

/** Name of a filter: a path of fields, often an existing one, through relations and with an operator. */
const filterName = (resource: ResourceName): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 6, arbitrary: fc.constant<readonly string[]>([]) },
        {
          weight: 2,
          arbitrary: fc.array(fc.constantFrom('parent', ...fieldsByResource[resource].relations), { maxLength: 3 }),
        },
        { weight: 1, arbitrary: fc.array(fc.constantFrom(...relationNames), { maxLength: 9 }) },
      ),
      fieldOf(resource),
      fc.oneof(
        { weight: 3, arbitrary: fc.constant<readonly string[]>([]) },
        { weight: 6, arbitrary: fc.constantFrom(...operatorNames).map((operator) => [operator]) },
        { weight: 1, arbitrary: fc.constantFrom('regex', 'contains', '__proto__', 'EQ', 'isnull').map((one) => [one]) },
      ),
    )
    .map(([joins, field, operator]) => encodeURIComponent([...joins, field, ...operator].join('__').toWellFormed()))

const orderings = (resource: ResourceName): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(fc.constantFrom('', '', '-', '--', '+', ' '), fieldOf(resource)).map((parts) => parts.join('')),
      { maxLength: 4 },
    )
    .map((names) => encodeURIComponent(names.join(',').toWellFormed()))

const counts = fc.oneof(
  fc.integer({ min: 1, max: 5 }).map(String),
  fc.constantFrom(
    '0',
    '-1',
    '1.5',
    '1e9',
    '1000',
    '1001',
    '1e21',
    '',
    '%205',
    '5+',
    '0x5',
    '1000000',
    '5%0d%0aX:',
    '+',
  ),
  encodedValue,
)

const filter = (resource: ResourceName): fc.Arbitrary<string> =>
  fc.tuple(filterName(resource), encodedValue).map((pair) => pair.join('='))

const parameter = (resource: ResourceName): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: filter(resource) },
    { weight: 4, arbitrary: groupParameter(filter(resource)) },
    { weight: 1, arbitrary: countParameter },
    { weight: 2, arbitrary: orderings(resource).map((names) => `ordering=${names}`) },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom('limit', 'page'), counts).map((pair) => pair.join('=')) },
    { weight: 1, arbitrary: rawGarbage },
  )

const separator = fc.oneof(
  { weight: 20, arbitrary: fc.constant('&') },
  { weight: 1, arbitrary: fc.constantFrom('&&', ';', '?', '&amp;') },
)
const queries = (resource: ResourceName): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 12, arbitrary: fc.array(parameter(resource), { maxLength: 4 }) },
        { weight: 1, arbitrary: fc.array(parameter(resource), { maxLength: 55, size: 'max' }) },
      ),
      separator,
    )
    // Shorter than 16 KiB, Node's limit of the request head, which is not tested here.
    .map(([parameters, between]) => parameters.join(between).slice(0, 12_000))
    .map((query) => (query === '' ? '' : `?${query}`))

/** Users who read: those of the data set, or none. */
const reader = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(undefined, 'ann', 'ann') },
  { weight: 1, arbitrary: fc.constantFrom('bob', 'carl', 'dora', 'Zoë') },
)

const headers: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Readonly<Record<string, string>>>(
      { 'If-None-Match': '*' },
      { 'If-None-Match': '"x", W/"y"' },
      { 'If-Match': '"x"' },
      { 'If-Match': '*' },
      { 'If-Modified-Since': 'Sat, 01 Jan 2050 00:00:00 GMT' },
      { Range: 'bytes=0-3' },
      { Accept: 'text/html' },
      { 'Accept-Encoding': 'gzip, br' },
      { 'X-HTTP-Method-Override': 'DELETE' },
      { Authorization: 'Basic' },
      { Authorization: `Basic ${'QUJD'.repeat(500)}` },
      { Authorization: `Basic ${Buffer.from('bob\0:bob').toString('base64')}` },
      { Authorization: 'Bearer x' },
      { Origin: 'null' },
      { Origin: 'http://evil.example' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-origin' },
      { Host: 'evil.example' },
      { 'X-Forwarded-Host': 'evil.example' },
    ),
  },
)

const readingMethod = fc.oneof(
  { weight: 12, arbitrary: fc.constant('GET') },
  { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND') },
)

const reading = (path: fc.Arbitrary<string>): fc.Arbitrary<Generated> =>
  fc
    .tuple(readingMethod, path, reader, headers)
    .map(([method, target, as, all]) => ({ line: `${method} ${target}`, as, headers: all }))

/** Resource of a request. Half of them are notes, which have the most kinds of fields. */
const resource = fc.oneof(fc.constant<ResourceName>('note'), fc.constantFrom<ResourceName>(...resources))

/** Requests that read lists. */
export const listRequests: fc.Arbitrary<Generated> = resource.chain((name) =>
  reading(fc.tuple(fc.constantFrom('/', ''), queries(name)).map(([slash, query]) => `/api/${name}${slash}${query}`)),
)

/** Key of a `word`, which does not exist: the data set has no words. */
export const wordId = '01890a5d-ac96-774b-bcce-b302099a8057'
const ids: Readonly<Record<ResourceName, readonly string[]>> = {
  note: ['1', '2', '6', '10'],
  message: ['1', '2', '3'],
  user: ['2', '4', '5'],
  language: ['eng', '%65ng'],
  word: [wordId],
}

const strangeId = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '99',
      '1abc',
      '0',
      '-1',
      '01',
      '1e0',
      '1.0',
      '%31',
      '%201',
      '1,2',
      "1'",
      '1;',
      ';x',
      'ENG',
      '%65ng',
      '9999999999999999999',
      '1%2F..%2F2',
      '%00',
      '%ff',
      '%ED%A0%80',
      '%',
      'null',
      'constructor',
      '__proto__',
      '01890a5d-ac96-774b-bcce-b302099a8058',
    ),
  },
  { weight: 1, arbitrary: value.map((text) => encodeURIComponent(text).slice(0, 9000)).filter((text) => text !== '') },
)
const idOf = (name: ResourceName): fc.Arbitrary<string> =>
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids[name]) }, { weight: 1, arbitrary: strangeId })

const itemPath = resource.chain((name) =>
  fc.tuple(idOf(name), fc.constantFrom('/', '')).map(([id, slash]) => `/api/${name}/${id}${slash}`),
)

const segments = fc.constantFrom(
  'api',
  'API',
  'api%2F',
  'note',
  'Note',
  '%6eote',
  'user',
  'vault',
  'language_word',
  '1',
  '..',
  '.',
  '%2e%2e',
  '',
  '',
  '__proto__',
  'constructor',
  'note;x',
  'note%00',
  'note\\1',
  'note#',
  '%ff',
  '*',
  'http:',
)
const oddPath = fc.array(segments, { minLength: 1, maxLength: 5 }).map((parts) => `/${parts.join('/')}`)

/** Requests that read items and unusual paths. */
export const pathRequests: fc.Arbitrary<Generated> = reading(
  fc.oneof(
    { weight: 4, arbitrary: itemPath },
    { weight: 2, arbitrary: oddPath },
    { weight: 1, arbitrary: fc.tuple(itemPath, queries('note')).map((parts) => parts.join('')) },
  ),
)

/** Values for the fields of all resources, most of which are valid. */
const fitting: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  title: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.string({ maxLength: 30 })),
  body: fc.oneof(fc.constant(null), fc.string({ unit: 'grapheme', maxLength: 60 })),
  score: fc.integer(),
  rank: fc.oneof(fc.integer({ min: -32_768, max: 32_767 }), fc.integer(), fc.constant(null)),
  published: fc.boolean(),
  weight: fc.oneof(fc.double(), fc.constant(null)),
  price: fc.oneof(fc.constantFrom('12.50', '-9999.99', '0', '10000.00', '0.001', 'x', null), fc.integer().map(String)),
  big: fc.oneof(fc.integer(), fc.constantFrom('9007199254740993', '9223372036854775808', '-9223372036854775808', null)),
  day: fc.constantFrom('2024-02-29', '2024-02-30', '0001-01-01', '9999-12-31', '0000-00-00', null),
  at: fc.constantFrom('10:20:30', '10:20', '24:00:00', '23:59:60', null),
  status: fc.constantFrom('draft', 'final', 'Draft', ''),
  extra: fc.jsonValue({ maxDepth: 5 }),
  tags: fc.oneof(fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }), fc.constant(null)),
  created: fc.constantFrom(
    '2024-01-01 10:20:30',
    '2024-01-01T10:20:30.5+02:00',
    '2024-02-30',
    '+275760-09-13T00:00:00Z',
    '0000-01-01',
    '9999-12-31T23:59:59-10:00',
  ),
  limit: fc.integer({ min: 0, max: 9 }),
  author_id: fc.constantFrom(1, 2, 5, 99, 0, -1, '1'),
  parent_id: fc.constantFrom(1, 10, 99, null),
  message: fc.string({ unit: 'grapheme', maxLength: 20 }),
  stamp: fc.constantFrom(null, 'one'),
  user_id: fc.constantFrom(1, 2, null, { id: 1 }),
  note_id: fc.constantFrom(1, 99, null),
  username: fc.oneof(fc.constantFrom('ann', 'bob', 'ANN', 'new'), fc.string({ maxLength: 45 })),
  password: fc.constantFrom('', 'pass', null, 'x'.repeat(300)),
  email: fc.constantFrom(null, 'new@example.net'),
  admin: fc.constantFrom(true, false, 1, 'true'),
  active: fc.constantFrom(true, false, null),
  text: fc.string({ unit: 'grapheme', maxLength: 8 }),
  language_id: fc.constantFrom('eng', 'ENG', 'xxx', null, 1),
  code: fc.constantFrom('deu', 'eng', ''),
  name: fc.string({ maxLength: 8 }),
  secret: fc.constantFrom(null, 'new'),
  vault_id: fc.constantFrom(null, 1, 99),
  id: fc.constantFrom(1, 2, 99, 'eng', null),
}

const inputs: Readonly<Record<ResourceName, readonly string[]>> = {
  note: [...fieldsByResource.note.shown.filter((name) => name !== 'author' && name !== 'parent'), 'secret', 'vault_id'],
  message: ['message', 'created', 'stamp', 'user_id', 'note_id'],
  user: ['username', 'password', 'email', 'admin', 'active'],
  language: ['code', 'name'],
  word: ['text', 'language_id'],
}
const required: Readonly<Record<ResourceName, readonly string[]>> = {
  note: ['title', 'author_id'],
  message: ['message'],
  user: ['username'],
  language: ['code', 'name'],
  word: ['text'],
}

/** Text with characters that `JSON.stringify` escapes: lone surrogates, NUL. */
const badText = fc.constantFrom('\ud800', 'a\udc00', 'a\0b', '\u2028', '😀'.repeat(15), 'x'.repeat(5000), '\ufeff')
const anyJson = fc.oneof(fc.jsonValue({ maxDepth: 3 }), badText, fc.constantFrom<unknown>(1e308, -0, 2 ** 53, 1e21))

const fits = (names: readonly string[], requiredKeys: string[]): fc.Arbitrary<object> =>
  fc.record(Object.fromEntries(names.map((name) => [name, fitting[name] ?? anyJson])), { requiredKeys })

/** Record that is often valid: with few fields, so that not all are refused for one of them. */
const records = (name: ResourceName): fc.Arbitrary<object> => {
  const some = fc.subarray([...inputs[name]], { maxLength: Math.min(4, inputs[name].length) })
  const others = fc.dictionary(fc.oneof(fc.constantFrom(...inputs[name]), fieldOf(name)), anyJson, { maxKeys: 2 })
  return fc
    .tuple(
      some.chain((names) => fits(names, [...names])),
      fits(required[name], [...required[name]]),
      fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: others }),
    )
    .map(([optional, needed, wrong]) => ({ ...needed, ...optional, ...wrong }))
}

const rawBodies = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '{',
    '{}',
    '[]',
    'null',
    '"x"',
    '0',
    '{}x',
    '\ufeff{}',
    '{"title":"a","title":"b","author_id":1}',
    '{"score":1e400}',
    '{"score":-0}',
    '{"big":9007199254740993}',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{}}}',
    '{"author":{"id":2,"admin":true}}',
    '{"title":"\\ud800","author_id":1}',
    '{"title":"\\u0000"}',
    `{"extra":${'['.repeat(70)}${']'.repeat(70)},"title":"a","author_id":1}`,
    '['.repeat(500_000),
    `{"extra":${'['.repeat(9000)}${']'.repeat(9000)}}`,
    `{"title":"${'x'.repeat(70_000)}"}`,
    'x'.repeat(1_048_577),
  ),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
  fc.json(),
)

interface Sent {
  readonly type: string
  readonly body: string | Buffer
}

const boundary = 'b0undary'
const part = (name: string, text: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`
/** Ways to send a record (specification: Bodies), and some wrong ones. */
const ways: readonly ((json: string) => Sent)[] = [
  (body) => ({ type: 'application/json', body }),
  (body) => ({ type: 'application/json; charset=utf-8', body }),
  (body) => ({ type: 'application/vnd.api+json', body }),
  (body) => ({ type: 'application/x-www-form-urlencoded', body }),
  (json) => ({ type: 'application/x-www-form-urlencoded', body: `data=${encodeURIComponent(json)}` }),
  (json) => ({ type: 'application/x-www-form-urlencoded', body: `data=${encodeURIComponent(json)}&data=1` }),
  (json) => ({ type: 'application/x-www-form-urlencoded', body: `data=${json}` }),
  (json) => ({ type: `multipart/form-data; boundary=${boundary}`, body: `${part('data', json)}--${boundary}--\r\n` }),
  (json) => ({ type: `multipart/form-data; boundary=${boundary}`, body: part('data', json) }),
  (json) => ({ type: 'multipart/form-data', body: part('data', json) }),
  (body) => ({ type: 'text/plain', body }),
  (body) => ({ type: 'application/json; charset=utf-16', body }),
  (body) => ({ type: ';', body }),
]

const sent = (name: ResourceName): fc.Arbitrary<Sent> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: records(name).map((record) => ({ type: 'application/json', body: JSON.stringify(record) })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...ways), records(name))
        .map(([way, record]) => way(JSON.stringify(record).toWellFormed())),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...ways), rawBodies)
        .map(([way, body]) => (typeof body === 'string' ? way(body.toWellFormed()) : { ...way(''), body })),
    },
  )

const writer = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('ann', 'bob') },
  { weight: 1, arbitrary: fc.constantFrom(undefined, 'carl') },
)

const writtenResource = fc.oneof(
  { weight: 5, arbitrary: fc.constant<ResourceName>('note') },
  { weight: 3, arbitrary: fc.constantFrom<ResourceName>('message', 'user', 'word') },
  { weight: 1, arbitrary: fc.constantFrom<ResourceName>(...resources) },
)
const encoding = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constantFrom({ 'Content-Encoding': 'gzip' }, { 'Content-Encoding': 'identity' }) },
)

/** POST on a collection, PUT, PATCH and DELETE on a record, and sometimes on the other kind of path. */
export const writeRequests: fc.Arbitrary<Generated> = writtenResource.chain((name) => {
  const onList = fc.tuple(fc.constantFrom('POST', 'POST', 'POST', 'POST', 'PUT', 'DELETE'), fc.constant(''))
  const onItem = fc.tuple(
    fc.constantFrom('PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'DELETE', 'DELETE', 'POST', 'MKCOL'),
    idOf(name),
  )
  return fc
    .tuple(fc.oneof(onList, onItem), sent(name), writer, headers, encoding)
    .map(([[method, id], { type, body }, as, some, coded]) => ({
      line: `${method} /api/${name}/${id}`,
      as,
      headers: { 'Content-Type': type, ...some, ...coded },
      body,
    }))
})
