import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { createDataProvider, type DataProvider, HttpError } from '../../src/admin/refine'
import { permitAllAsUser1 } from '../support/access'
import { rejection } from '../support/rejection'
import { entities } from '../world/entities'
import { openWorld, seedWorld, type World } from '../world/world'

/** With bulk writes. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'integer', default: 0 }) size!: number
}

interface Item {
  readonly id?: string | number
  readonly [field: string]: unknown
}

let world: World
let provider: DataProvider
/** Requests since the last call: method, path and query string. */
const requests: string[] = []

const recording: typeof fetch = (input, init) => {
  requests.push(`${init?.method} ${decodeURIComponent(String(input).slice(`${world.url}/api`.length))}`)
  return fetch(input, init)
}

beforeAll(async () => {
  world = await openWorld({ entities: [...entities, Step], seed: seedWorld })
  provider = createDataProvider(`${world.url}/api`, { username: 'bob', password: 'bob', fetch: recording })
})
beforeEach(() => void requests.splice(0))
afterAll(() => world.close())

const ids = (items: readonly Item[]): readonly unknown[] => items.map(({ id }) => id)
const refusalOf = (work: Promise<unknown>): Promise<HttpError> => rejection(work, HttpError)

test.each<readonly [operator: string, field: string, value: unknown, expected: readonly number[]]>([
  ['eq', 'score', 5, [1, 3]],
  ['eqs', 'title', 'Beta', [2]],
  ['ne', 'author_id', 1, [2, 4, 5, 6, 8, 9]],
  ['nes', 'author_id', 2, [1, 3, 5, 6, 7, 10]],
  ['lt', 'score', 0, [5]],
  ['lte', 'score', 0, [5, 6]],
  ['gt', 'score', 9, [10]],
  ['gte', 'score', 9, [8, 9, 10]],
  ['in', 'title', ['a,b', 'x"y'], [8, 9]],
  ['between', 'score', [1, 3], [2, 7]],
  ['between', 'score', [9, null], [8, 9, 10]],
  ['between', 'score', [undefined, 0], [5, 6]],
  ['null', 'rank', true, [1, 2, 3, 6, 7, 8, 9]],
  ['nnull', 'rank', true, [4, 5, 10]],
  ['eq', 'rank', null, [1, 2, 3, 6, 7, 8, 9]],
  ['ne', 'rank', null, [4, 5, 10]],
  ['eqs', 'body', null, [1, 2, 3, 4, 5, 7, 8, 9]],
  ['contains', 'title', 'LPH', [1]],
  ['contains', 'title', '100%', [7]],
  ['containss', 'title', 'BET', []],
  ['startswith', 'title', 'b', [2]],
  ['startswiths', 'title', 'b', []],
  ['endswith', 'title', 'TA', [2, 4]],
  ['endswiths', 'title', 'ta', [2, 4]],
  ['eq', 'author.username', 'ann', [1, 3, 7, 10]],
  ['nin', 'score', [5, 9, 10], [2, 4, 5, 6, 7]],
  ['nbetween', 'score', [0, 9], [5, 10]],
  ['nbetween', 'score', [0, null], [5]],
  ['ncontains', 'title', 'a', [5, 6, 9, 10]],
  ['ncontainss', 'body', 'long', [1, 2, 3, 4, 5, 7, 8, 9, 10]],
  ['nstartswith', 'title', 'b', [1, 3, 4, 5, 6, 7, 8, 9, 10]],
  ['nendswiths', 'title', 'a', [5, 6, 7, 8, 9, 10]],
  ['null', 'rank', null, [1, 2, 3, 6, 7, 8, 9]],
  ['nnull', 'rank', null, [4, 5, 10]],
])('filter: %s of %s with %j', async (operator, field, value, expected) => {
  const { data, total } = await provider.getList<Item>({ resource: 'note', filters: [{ operator, field, value }] })
  expect([ids(data), total]).toEqual([expected, expected.length])
})

test('meta.include adds related records to lists and single records', async () => {
  const meta = { include: { parent: { fields: ['title'] } } }
  const expected = { id: 3, parent: { id: 2, title: 'Beta' } }
  const filters = [{ field: 'id', operator: 'eq', value: 3 }]
  expect((await provider.getList<Item>({ resource: 'note', filters, meta })).data).toMatchObject([expected])
  const pagination = { mode: 'off' } as const
  expect((await provider.getList<Item>({ resource: 'note', filters, pagination, meta })).data).toMatchObject([expected])
  expect((await provider.getOne<Item>({ resource: 'note', id: 3, meta })).data).toMatchObject(expected)
})

test('filters must all hold, including those of `and`; filters without a value are ignored', async () => {
  const inner = { operator: 'and', value: [{ field: 'published', operator: 'eq', value: true }] }
  const filters = [
    { field: 'score', operator: 'gte', value: 9 },
    inner,
    { field: 'title', operator: 'eq', value: undefined },
  ]
  expect(ids((await provider.getList<Item>({ resource: 'note', filters })).data)).toEqual([8, 10])
})

test.each(['lt', 'gte', 'in', 'between', 'contains', 'startswiths', 'nin', 'nbetween', 'nendswith'])(
  'a filter with the operator %s and the value null, as of a cleared input, is ignored',
  async (operator) => {
    const filters = [
      { field: 'score', operator, value: null },
      ...(operator.endsWith('between') ? [{ field: 'score', operator, value: [null, undefined] }] : []),
      { field: 'score', operator: 'gte', value: 9 },
    ]
    expect(ids((await provider.getList<Item>({ resource: 'note', filters })).data)).toEqual([8, 9, 10])
  },
)

test('one of the filters of `or` must hold, with nested `and`; filters without a value are ignored', async () => {
  const value = [
    { field: 'score', operator: 'eq', value: 10 },
    {
      operator: 'and',
      value: [
        { field: 'score', operator: 'ne', value: 9 },
        { field: 'score', operator: 'ne', value: 8 },
        { field: 'author.username', operator: 'eq', value: 'bob' },
      ],
    },
    { field: 'title', operator: 'eq', value: undefined },
  ]
  const unset = { operator: 'or', value: [{ field: 'title', operator: 'eq', value: undefined }] }
  const { data } = await provider.getList<Item>({ resource: 'note', filters: [{ operator: 'or', value }, unset] })
  expect(ids(data)).toEqual([2, 10])
})

test.each<readonly [filters: readonly (readonly [string, string, unknown])[], expected: readonly number[]]>([
  [
    [
      ['ne', 'score', 10],
      ['ne', 'score', 9],
      ['ne', 'score', 8],
    ],
    [1, 2, 3, 5, 6, 7],
  ],
  [
    [
      ['eq', 'published', true],
      ['nin', 'score', [0]],
      ['ncontains', 'title', 'a'],
    ],
    [10],
  ],
  [
    [
      ['eq', 'published', true],
      ['gte', 'score', 5],
      ['gte', 'score', 1],
    ],
    [1, 4, 8, 10],
  ],
])('filters with the same name, and filters that are sent in a group, must all hold: %j', async (filters, expected) => {
  const all = filters.map(([operator, field, value]) => ({ operator, field, value }))
  const { data } = await provider.getList<Item>({ resource: 'note', filters: all })
  expect(ids(data)).toEqual(expected)
  const either = { operator: 'or', value: all }
  const reversed = await provider.getList<Item>({ resource: 'note', filters: [...all.toReversed(), either, either] })
  expect(ids(reversed.data)).toEqual(expected)
})

test('an unknown operator is refused before a request is sent', async () => {
  const filters = [{ operator: 'ina', field: 'title', value: ['x'] }]
  const message = 'unknown operator "ina" in a filter of Refine; operators: and, or, eq,'
  await expect(provider.getList({ resource: 'note', filters })).rejects.toThrow(message)
  expect(requests).toEqual([])
})

test('sorters become the parameter ordering, in the same order', async () => {
  const sorters = [
    { field: 'score', order: 'desc' },
    { field: 'title', order: 'asc' },
  ] as const
  const { data } = await provider.getList<Item>({ resource: 'note', sorters, pagination: { pageSize: 3 } })
  expect(ids(data)).toEqual([10, 8, 9])
  expect(requests).toEqual(['GET /note/?ordering=-score,title&limit=3&page=1&count=capped'])
})

test.each([
  [undefined, 1, [1, 2, 3, 4], 10],
  [undefined, 4, [], 10],
  ['exact', 2, [5, 6, 7, 8], 10],
  [false, 1, [1, 2, 3, 4], 5],
  [false, 2, [5, 6, 7, 8], 9],
  [false, 3, [9, 10], 10],
] as const)(
  'with count: %s, page %d knows its total; without counting, the total is one more than the visited records if there is a next page',
  async (count, page, expected, total) => {
    const { url } = world
    const counting = createDataProvider(`${url}/api`, {
      username: 'bob',
      password: 'bob',
      ...(count !== undefined && { count }),
    })
    const list = await counting.getList<Item>({ resource: 'note', pagination: { currentPage: page, pageSize: 4 } })
    expect([ids(list.data), list.total]).toEqual([expected, total])
  },
)

test.each(['off', 'client'] as const)('without pagination the whole list is read: %s', async (mode) => {
  const { data, total } = await provider.getList({ resource: 'note', pagination: { mode, pageSize: 2 } })
  expect([data.length, total]).toEqual([10, 10])
})

test('getOne reads a record, and getMany reads several with one request', async () => {
  expect(await provider.getOne({ resource: 'note', id: 4 })).toMatchObject({ data: { id: 4, title: 'delta' } })
  expect(ids((await provider.getMany<Item>({ resource: 'note', ids: [3, 1] })).data)).toEqual([1, 3])
  expect(requests).toEqual(['GET /note/4/', 'GET /note/?id__in=3,1&limit=2'])
})

test('a record is created, changed and deleted', async () => {
  const { data } = await provider.create<Item>({ resource: 'note', variables: { title: 'new', author_id: 2 } })
  const { id = 0 } = data
  expect(data).toMatchObject({ title: 'new' })
  const sent = { ...data, score: 4 }
  expect(await provider.update({ resource: 'note', id, variables: sent })).toMatchObject({ data: { score: 4 } })
  expect(await provider.deleteOne({ resource: 'note', id })).toEqual({ data: { id } })
  expect((await refusalOf(provider.getOne({ resource: 'note', id }))).statusCode).toBe(404)
})

describe.each<readonly [bulk: boolean | readonly string[], methods: readonly string[]]>([
  [true, ['POST', 'PATCH', 'DELETE']],
  [['step'], ['POST', 'PATCH', 'DELETE']],
  [false, ['POST', 'POST', 'PUT', 'PUT', 'DELETE', 'DELETE']],
  [['note'], ['POST', 'POST', 'PUT', 'PUT', 'DELETE', 'DELETE']],
])('with the option bulk: %j', (bulk, methods) => {
  const isBulk = methods.length === 3
  let many: DataProvider
  beforeAll(() => {
    many = createDataProvider(`${world.url}/api`, { bulk, fetch: recording })
  })
  const titles = async (): Promise<unknown> => {
    const sorters = [{ field: 'title', order: 'asc' }] as const
    return (await many.getList<Item>({ resource: 'step', sorters })).data.map(({ title, size }) => [title, size])
  }

  test('several records are created, changed and deleted', async () => {
    const { data } = await many.createMany<Item>({
      resource: 'step',
      variables: [{ title: 'a' }, { title: 'b', size: 3 }],
    })
    expect(data).toMatchObject([
      { title: 'a', size: 0 },
      { title: 'b', size: 3 },
    ])
    const written = data.map(({ id = 0 }) => id)
    const updated = await many.updateMany<Item>({ resource: 'step', ids: written, variables: { size: 5 } })
    expect(updated.data).toEqual(data.map((item) => (isBulk ? { id: item.id, size: 5 } : { ...item, size: 5 })))
    const sent = requests.splice(0)
    expect(await titles()).toEqual([
      ['a', 5],
      ['b', 5],
    ])
    requests.splice(0)
    expect(await many.deleteMany({ resource: 'step', ids: written })).toEqual({ data: written.map((id) => ({ id })) })
    expect([...sent, ...requests].map((line) => line.split(' ')[0])).toEqual(methods)
    expect(await titles()).toEqual([])
  })

  test('an error has the messages of the fields; with bulk writes, nothing is written', async () => {
    const records = [{ title: 'a' }, { title: 'x'.repeat(21) }]
    const error = await refusalOf(many.createMany({ resource: 'step', variables: records }))
    expect([error.statusCode, Object.keys(error.errors)]).toEqual([400, ['title']])
    expect(await titles()).toEqual(isBulk ? [] : [['a', 0]])
    expect((await refusalOf(many.deleteMany({ resource: 'step', ids: [0] }))).statusCode).toBe(404)
    await world.sql('DELETE FROM "step"')
  })
})

const variables = { title: 'a title of more than twenty', score: 'five', author_id: 99 }
test.each<readonly [name: string, work: () => Promise<unknown>, status: number, fields: readonly string[]]>([
  ['a create', () => provider.create({ resource: 'note', variables }), 400, ['author_id', 'score', 'title']],
  ['an update', () => provider.update({ resource: 'note', id: 1, variables }), 400, ['author_id', 'score', 'title']],
  ['a record of another user', () => provider.update({ resource: 'message', id: 1, variables: {} }), 403, []],
  ['a delete', () => provider.deleteOne({ resource: 'message', id: 1 }), 403, []],
  ['records that the user may not read', () => provider.getMany({ resource: 'user', ids: [1] }), 401, []],
])('an error has the messages of the fields: %s', async (_, work, status, fields) => {
  const error = await refusalOf(work())
  expect([error.statusCode, Object.keys(error.errors).toSorted()]).toEqual([status, fields])
  expect(error.message).not.toBe('')
})

test('meta.fields selects the fields of records, and meta.search their words', async () => {
  const meta = { fields: ['title', 'author_id'] }
  const names = ['author_id', 'id', 'title']
  const { data: list } = await provider.getList<Item>({ resource: 'note', meta, pagination: { pageSize: 1 } })
  const { data: all } = await provider.getList<Item>({ resource: 'note', meta, pagination: { mode: 'off' } })
  const { data: many } = await provider.getMany<Item>({ resource: 'note', meta, ids: [1, 2] })
  const { data: one } = await provider.getOne<Item>({ resource: 'note', meta, id: 1 })
  for (const record of [...list, ...all, ...many, one]) expect(Object.keys(record).toSorted()).toEqual(names)
  requests.splice(0)
  // The resource has no search: only the request is of interest.
  await refusalOf(provider.getList({ resource: 'note', meta: { search: 'two words' } }))
  expect(requests).toEqual(['GET /note/?limit=10&page=1&count=capped&search=two+words'])
})

test('a request can be aborted by the signal of its query', async () => {
  const meta = { queryContext: { signal: AbortSignal.abort() } }
  await expect(provider.getList({ resource: 'note', meta })).rejects.toMatchObject({ name: 'AbortError' })
})

test('getApiUrl returns the URL of the service', () => {
  expect(provider.getApiUrl()).toBe(`${world.url}/api`)
})
