import fc from 'fast-check'
import { operatorNames } from '../../src/value/value-type'
import { aggregateParameters, formatParameters } from './aggregate-requests'
import { countParameter, encodedValue, type Generated, groupParameter, strangeNames } from './generate'

/** Requests on the entities of `twins.ts`, which name hidden fields as often as shown ones. */

/** A request with an optional conditional header. */
export interface Conditional extends Generated {
  /** Name of the header that contains the latest `ETag` of the path. */
  readonly condition?: 'If-None-Match' | 'If-Match' | undefined
}

interface ResourceFields {
  readonly shown: readonly string[]
  readonly hidden: readonly string[]
}

const fieldsByResource = {
  article: {
    shown: [
      'id',
      'title',
      'body',
      'score',
      'published',
      'price',
      'day',
      'code',
      'created',
      'author',
      'author_id',
      'author__username',
      'author__active',
      'parent',
      'parent__title',
      'parent__author__username',
      'labels__name',
      'labels',
      'remarks__text',
      'remarks__person__username',
      'stats__likes',
    ],
    hidden: [
      'secret',
      'grade',
      'flagged',
      'due',
      'notes',
      'words',
      'cost',
      'token',
      'serial',
      'sealed',
      'picture',
      'stats__views',
      'revision',
      'touched',
      'reviewer',
      'reviewer_id',
      'reviewerId',
      'reviewer__username',
      'safe',
      'safe_id',
      'safe__code',
      'twin',
      'twin__title',
      'marks',
      'marks__name',
      'author__password',
      'author__email',
      'author__phone',
      'author__born',
      'author__boss',
      'author__boss__username',
      'author__reviews__title',
      'parent__secret',
      'parent__reviewer__username',
      'labels__colour',
      'labels__marked__title',
      'remarks__mood',
      'remarks__helper__username',
    ],
  },
  person: {
    shown: ['id', 'username', 'admin', 'active'],
    hidden: ['password', 'email', 'phone', 'born', 'boss', 'boss_id', 'boss__username', 'reviews', 'reviews__title'],
  },
  label: { shown: ['id', 'name'], hidden: ['colour', 'marked', 'marked__title'] },
  remark: {
    shown: [
      'id',
      'text',
      'person',
      'person__username',
      'article',
      'article_id',
      'article__title',
      'article__labels__name',
    ],
    hidden: [
      'mood',
      'helper',
      'helper_id',
      'helper__username',
      'person__email',
      'article__secret',
      'article__reviewer',
    ],
  },
  sheet: { shown: ['id', 'title', 'revision'], hidden: ['pin', 'memo'] },
  branch: {
    shown: ['id', 'title', 'revision', 'parent', 'parent__title', 'children__title'],
    hidden: ['pin', 'memo', 'mpath', 'parent__pin', 'children__memo'],
  },
  safe: { shown: ['id'], hidden: ['code'] },
} satisfies Record<string, ResourceFields>

type Name = keyof typeof fieldsByResource
const resourceName = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Name>('article') },
  { weight: 4, arbitrary: fc.constantFrom<Name>('person', 'label', 'remark', 'sheet', 'branch') },
  { weight: 1, arbitrary: fc.constant<Name>('safe') },
)

const field = (name: Name): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...fieldsByResource[name].shown) },
    { weight: 3, arbitrary: fc.constantFrom(...fieldsByResource[name].hidden) },
    { weight: 1, arbitrary: fc.constantFrom(...strangeNames) },
  )

/** Values from both databases, hidden and shown ones. */
const values = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'hidden0-1',
      'hidden1-3',
      'hidden%25',
      'ann@side0.example',
      'serial1-2',
      'safe0-0',
      'hash%20of%20ann',
      '2001-01-01',
      '50',
      '97.25',
      'side0',
      'true',
      'null',
      'not_null',
    ),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom('1', '2', '3', 'ann', 'bob', 'alpha', 'Beta', '%25a%25', '2024-02-14', '5.50', 'c1,c2'),
  },
  { weight: 2, arbitrary: encodedValue },
)

const filter = (name: Name): fc.Arbitrary<string> =>
  fc
    .tuple(
      field(name),
      fc.oneof(
        fc.constant(''),
        fc.constantFrom(...operatorNames).map((one) => `__${one}`),
      ),
      values,
    )
    .map(([path, operator, value]) => `${encodeURIComponent(path + operator)}=${value}`)
const ordering = (name: Name): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(fc.constantFrom('', '-'), field(name)).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 3 },
    )
    .map((names) => `ordering=${encodeURIComponent(names.join(','))}`)
const paging = fc.constantFrom('limit=3', 'limit=1&page=2', 'page=2', 'limit=0', 'limit=5&page=3')
/** Parameters of a list of records. */
const listParameters = (name: Name): fc.Arbitrary<readonly (string | undefined)[]> =>
  fc.tuple(fc.option(ordering(name), { nil: undefined, freq: 2 }), fc.option(paging, { nil: undefined, freq: 2 }))
/** Fields and related records of a list, and a search. Hidden ones are refused. */
const selections = (name: Name): fc.Arbitrary<readonly string[]> => {
  const names = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...fieldsByResource[name].shown.filter((path) => !path.includes('__'))) },
    { weight: 1, arbitrary: field(name).map(encodeURIComponent) },
  )
  const include = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('author', 'parent', 'labels', 'remarks(include:(person))', 'person') },
    { weight: 1, arbitrary: field(name).map(encodeURIComponent) },
  )
  const word = fc.constantFrom('a', 'text', 'hidden', 'hidden0', 'ann', 'serial1', 'alpha', 'safe')
  return fc
    .record(
      { fields: fc.uniqueArray(names, { minLength: 1, maxLength: 3 }), include, search: word },
      { requiredKeys: [] },
    )
    .map((parameters) => Object.entries(parameters).map(([parameter, value]) => `${parameter}=${String(value)}`))
}
const list = resourceName.chain((name) => {
  const filters = fc.array(
    fc.oneof({ weight: 2, arbitrary: filter(name) }, groupParameter(filter(name)), countParameter),
    { maxLength: 2 },
  )
  const parameters = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(filters, listParameters(name)) },
    { weight: 2, arbitrary: fc.tuple(filters, aggregateParameters(field(name).map(encodeURIComponent))) },
    { weight: 1, arbitrary: fc.tuple(filters, formatParameters) },
    { weight: 1, arbitrary: fc.tuple(selections(name)) },
  )
  return parameters.map((parts) => {
    const query = parts
      .flat()
      .filter((part) => part !== undefined)
      .join('&')
    return `/api/${name}/${query === '' ? '' : `?${query}`}`
  })
})

/** Few keys, so that paths are repeated. */
const id = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 9 }).map(String) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 130 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('0', '1abc', '99999', '%31') },
)
const item = fc.tuple(resourceName, id).map(([name, segment]) => `/api/${name}/${segment}/`)

const who = fc.constantFrom(undefined, undefined, 'ann', 'bob', 'bob', 'carl', 'dora', 'emil', 'nobody')
const condition = fc.constantFrom<Conditional['condition'][]>(undefined, undefined, 'If-None-Match', 'If-Match')
const method = fc.oneof(
  { weight: 10, arbitrary: fc.constant('GET') },
  { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'TRACE') },
)
const reading: fc.Arbitrary<Conditional> = fc
  .tuple(method, fc.oneof({ weight: 3, arbitrary: list }, { weight: 2, arbitrary: item }), who, condition)
  .map(([verb, path, as, when]) => ({ line: `${verb} ${path}`, as, headers: {}, condition: when }))

const instants = fc.constantFrom('2024-01-01 10:20:30', '2024-01-02T10:20:30.001Z', '2024-02-30', '2025-05-05 05:05:05')
/** Titles, including hidden values of one of the databases. */
const secrets = {
  title: fc.constantFrom('a', 'b'),
  pin: fc.constantFrom(1, 2, 3, 97, 98, 99, null),
  memo: fc.constantFrom('hidden0-1', 'hidden0-2', 'hidden1-2', 'hidden1-3', null),
}
/** Values of shown fields, most of which are valid. Columns that contain the current time are left out. */
const fitting = {
  article: {
    title: fc.oneof(fc.constantFrom('alpha', 'Beta', 'delta'), fc.string({ maxLength: 33 })),
    body: fc.constantFrom('text', null, 5),
    score: fc.integer({ min: -3, max: 5 }),
    published: fc.boolean(),
    price: fc.constantFrom('1.50', '99999.00', null),
    day: fc.constantFrom('2024-02-11', '2024-02-31', null),
    code: fc.constantFrom('c1', 'c2', 'c40', 'c41', 'c42', null),
    author_id: fc.constantFrom(1, 2, 3, 77),
    parent_id: fc.constantFrom(1, 5, 77, null),
    created: instants,
    stats: fc.constantFrom({ likes: 1 }, { likes: 'x' }, {}, 5),
  },
  person: {
    username: fc.constantFrom('ann', 'carl', 'dora', 'emil', 'frida'),
    admin: fc.boolean(),
    active: fc.boolean(),
  },
  label: { name: fc.string({ maxLength: 4 }) },
  remark: {
    text: fc.string({ maxLength: 9 }),
    article_id: fc.constantFrom(1, 2, 77, null),
    person_id: fc.constantFrom(1, 2, 3),
  },
  sheet: secrets,
  branch: { ...secrets, parent_id: fc.constantFrom(1, 2, 3, 4, 77, null) },
  safe: {},
} satisfies Record<Name, Readonly<Record<string, fc.Arbitrary<unknown>>>>
const needed: Readonly<Record<Name, readonly string[]>> = {
  article: ['title', 'author_id', 'created'],
  person: ['username'],
  label: ['name'],
  remark: ['text'],
  sheet: ['title'],
  branch: ['title'],
  safe: [],
}

/**
 * Hidden fields with values that are refused in both databases, whatever is stored, so that nothing is written. A read-only field
 * (`sealed`) is refused with the stored value as well, since the response would otherwise reveal it.
 */
const refused: Readonly<Record<Name, readonly object[]>> = {
  article: [
    { sealed: 'hidden0-1' },
    { sealed: 'hidden1-3' },
    { sealed: null },
    { grade: 'x' },
    { flagged: 3 },
    { secret: { side: 0 } },
    { reviewer_id: 7777 },
    { reviewer: 1 },
    { safe_id: 7777 },
    { twin_id: 'x' },
    { cost: '123456.789' },
    { due: '2024-02-30' },
    { words: ['a,b'] },
    { revision: 'x' },
    { picture: 'x' },
    { marks: [1] },
    { stats: { views: 'x' } },
  ],
  person: [{ boss_id: 7777 }, { email: 5 }, { phone: {} }, { born: '2024-02-30' }, { reviews: [] }, { password: '' }],
  label: [{ colour: 5 }, { marked: [1] }],
  remark: [{ mood: 5 }, { helper_id: 7777 }, { helper: { id: 1 } }, { sealed: 'hidden0-1' }],
  sheet: [{ pin: 'x' }, { memo: 5 }, { revision: 77 }],
  branch: [{ pin: 1.5 }, { memo: [] }, { mpath: '1.' }],
  safe: [{ code: 'safe0-0' }],
}

const record = (name: Name): fc.Arbitrary<object> =>
  fc
    .tuple(
      fc.record<Record<string, unknown>>(fitting[name], { requiredKeys: [...needed[name]] }),
      fc.subarray(Object.keys(fitting[name]).filter((key) => !needed[name].includes(key))),
    )
    .map(([all, left]) =>
      Object.fromEntries(Object.entries(all).filter(([key]) => needed[name].includes(key) || left.includes(key))),
    )
const sent = (name: Name): fc.Arbitrary<object> => {
  const wrong = fc.constantFrom(...refused[name])
  return fc.oneof(
    { weight: 4, arbitrary: record(name) },
    { weight: 1, arbitrary: wrong },
    { weight: 1, arbitrary: fc.tuple(record(name), wrong).map(([fits, not]) => ({ ...fits, ...not })) },
  )
}

const writer = fc.constantFrom('ann', 'ann', 'ann', 'bob', 'bob', 'carl', undefined)
/** Users to write: neither those who log in, nor those whom a foreign key without a cascade refers to. */
const writtenPerson = fc.constantFrom('3', '4', '5')
const writing: fc.Arbitrary<Conditional> = resourceName.chain((name) => {
  const segment = name === 'person' ? writtenPerson : id
  const target = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('POST'), fc.constant('')) },
    {
      weight: 4,
      arbitrary: fc.tuple(
        fc.constantFrom('PUT', 'PATCH'),
        segment.map((one) => `${one}/`),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(
        fc.constant('DELETE'),
        segment.map((one) => `${one}/`),
      ),
    },
  )
  return fc.tuple(target, sent(name), writer, condition).map(([[verb, path], body, as, when]) => ({
    line: `${verb} /api/${name}/${path}`,
    as,
    headers: { 'Content-Type': 'application/json' },
    body: verb === 'DELETE' ? undefined : JSON.stringify(body),
    condition: when === 'If-Match' ? when : undefined,
  }))
})

/** Requests of all kinds. */
export const twinRequests: fc.Arbitrary<Conditional> = fc.oneof(
  { weight: 7, arbitrary: reading },
  { weight: 3, arbitrary: writing },
)
