import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { createBasicAuth, createDataProvider, type DataProvider, HttpError } from '../../src/admin/react-admin'
import { permitAllAsUser1 } from '../support/access'
import { rejection } from '../support/rejection'
import { entities, User } from '../world/entities'
import { openWorld, seedWorld, type World } from '../world/world'

/** With bulk writes. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'integer', default: 0 }) size!: number
}

/** With bulk writes, and keys of two columns that need quotes in a list. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Seat {
  @PrimaryColumn({ length: 36 }) hall!: string
  @PrimaryColumn({ length: 36 }) name!: string
  @Column({ type: 'integer', default: 0 }) size!: number
}

interface Item {
  readonly id: string | number
  readonly [field: string]: unknown
}

let world: World
let provider: DataProvider
/** Requests since the last call: method, path, decoded query string, If-Match and body. */
const requests: string[] = []

const recording: typeof fetch = (input, init) => {
  const ifMatch = new Headers(init?.headers).has('If-Match') ? ' If-Match' : ''
  const path = decodeURIComponent(String(input).slice(`${world.url}/api`.length)).replaceAll('+', ' ')
  requests.push(`${init?.method} ${path}${ifMatch}${init?.body ? ` ${init.body}` : ''}`)
  return fetch(input, init)
}
const as = (username: string): DataProvider =>
  createDataProvider(`${world.url}/api`, { username, password: username, fetch: recording })

beforeAll(async () => {
  world = await openWorld({ entities: [...entities, Step, Seat], seed: seedWorld })
  provider = as('bob')
})
beforeEach(() => void requests.splice(0))
afterAll(() => world.close())

const ids = (items: readonly Item[]): readonly unknown[] => items.map(({ id }) => id)
const refusalOf = (work: Promise<unknown>): Promise<HttpError> => rejection(work, HttpError)

test.each([
  ['names of the service', { score__gte: 9 }, [8, 9, 10]],
  ['several filters, which must all hold', { score__gte: 9, published: true }, [8, 10]],
  ['an array as in', { id: [1, 3] }, [1, 3]],
  ['an array by its operator', { id__in: [1, 3] }, [1, 3]],
  ['an array with commas and quotes in it', { title: ['a,b', 'x"y'] }, [8, 9]],
  ['null as is null', { rank: null, score__gte: 9 }, [8, 9]],
  ['nested values as a path', { author: { username: 'ann' }, score: 5 }, [1, 3]],
  ['dots as a path', { 'author.username': 'ann', score: 5 }, [1, 3]],
  ['nested values with operators', { author: { username__like: 'an%' }, score: 5 }, [1, 3]],
  ['contains, which ignores case', { title__contains: 'ALPH' }, [1]],
  ['contains, without wildcards', { title__contains: '100%' }, [7]],
  ['a date', { created__lt: new Date('2024-01-01T00:00:00Z') }, [7]],
  ['undefined values, which are ignored', { score: 8, title: undefined, body__contains: undefined }, [4]],
])('filters: %s', async (_, filter, expected) => {
  const { data } = await provider.getList<Item>('note', { filter })
  expect(ids(data)).toEqual(expected)
})

test('meta.include adds related records to lists', async () => {
  const meta = { include: { parent: { fields: ['title'] } } }
  const { data } = await provider.getList<Item>('note', { filter: { id: 3 }, meta })
  expect(data).toMatchObject([{ id: 3, parent: { id: 2, title: 'Beta' } }])
  const target = { target: 'parent_id', id: 2, meta }
  expect((await provider.getManyReference<Item>('note', target)).data).toMatchObject([{ parent: { title: 'Beta' } }])
  expect(requests).toEqual([
    'GET /note/?id=3&count=capped&include=parent(fields:(title))',
    'GET /note/?parent_id=2&count=capped&include=parent(fields:(title))',
  ])
})

test('the filter q is the parameter search', async () => {
  expect(ids((await provider.getList<Item>('note', { filter: { q: undefined, score: 5 } })).data)).not.toEqual([])
  await expect(provider.getList('note', { filter: { q: 'a' } })).rejects.toThrow('search is not a field of note')
})

test.each([
  ['ascending', { field: 'score', order: 'ASC' }, [5, 6]],
  ['descending', { field: 'score', order: 'DESC' }, [10, 8]],
  ['by id', { field: 'id', order: 'DESC' }, [10, 9]],
] as const)('sort: %s', async (_, sort, expected) => {
  const { data } = await provider.getList<Item>('note', { sort, pagination: { page: 1, perPage: 2 } })
  expect(ids(data)).toEqual(expected)
})

test.each([
  [1, [1, 2, 3, 4], { hasNextPage: true, hasPreviousPage: false }],
  [2, [5, 6, 7, 8], { hasNextPage: true, hasPreviousPage: true }],
  [3, [9, 10], { hasNextPage: false, hasPreviousPage: true }],
  [4, [], { hasNextPage: false, hasPreviousPage: true }],
])('page %d knows whether there are other pages and the total, with one request', async (page, expected, pageInfo) => {
  const { data, ...rest } = await provider.getList<Item>('note', { pagination: { page, perPage: 4 } })
  expect(ids(data)).toEqual(expected)
  expect(rest).toEqual({ pageInfo, total: 10 })
  expect(requests).toEqual([`GET /note/?limit=4&page=${page}&count=capped`])
})

test.each([
  [1, undefined],
  [3, 10],
  [4, undefined],
])('without counting, page %d only knows the total if it is the last page', async (page, total) => {
  const plain = createDataProvider(`${world.url}/api`, { username: 'bob', password: 'bob', count: false })
  expect((await plain.getList<Item>('note', { pagination: { page, perPage: 4 } })).total).toBe(total)
})

test('filters are combined by or, and, not', async () => {
  const filter = {
    published: true,
    or: [
      { score: 10 },
      { author: { username: 'bob' }, not: { title__contains: 'a' } },
      { and: [{ score: 0 }, { body: null }] },
    ],
    not: { score: [9, 3] },
  }
  expect(ids((await provider.getList<Item>('note', { filter })).data)).toEqual([10])
})

test.each([
  ['by the name of the field', 'author_id', {}, [10, 7]],
  ['by the name of the relation', 'author', {}, [10, 7]],
  ['with filters, which do not override the reference', 'author_id', { author_id: 2, score: 5 }, [3, 1]],
])('records that refer to another one: %s', async (_, target, filter, expected) => {
  const sort = { field: 'id', order: 'DESC' } as const
  const params = { target, id: 1, filter, sort, pagination: { page: 1, perPage: 2 } }
  expect(ids((await provider.getManyReference<Item>('note', params)).data)).toEqual(expected)
})

test('getOne returns a record', async () => {
  expect(await provider.getOne('note', { id: 4 })).toMatchObject({ data: { id: 4, title: 'delta' } })
})

test('getMany sends one request, and returns each existing record once', async () => {
  const { data } = await provider.getMany<Item>('note', { ids: [3, 1, 3, 99] })
  expect(ids(data)).toEqual([1, 3])
  expect(requests).toEqual(['GET /note/?id__in=3,1,99&limit=3'])
})

test('getMany without ids sends no request', async () => {
  expect(await provider.getMany('note', { ids: [] })).toEqual({ data: [] })
  expect(requests).toEqual([])
})

test('getMany works with text keys', async () => {
  expect(await provider.getMany('language', { ids: ['fra', 'eng'] })).toMatchObject({
    data: [{ name: 'English' }, { name: 'French' }],
  })
})

test.each([
  ['numbers', 'note', Array.from({ length: 250 }, (_, index) => index + 1), 3],
  ['UUIDs', 'word', Array.from({ length: 100 }, () => crypto.randomUUID()), 2],
  ['long texts', 'language', Array.from({ length: 10 }, (_, index) => `${'é'.repeat(190)}${index}`), 4],
] as const)('ids that do not fit one request are read with several: %s', async (_, resource, many, expected) => {
  await provider.getMany(resource, { ids: many })
  expect(requests).toHaveLength(expected)
})

test('a record is created, changed and deleted', async () => {
  const { data } = await provider.create<Item>('note', { data: { title: 'new', author_id: 2 } })
  expect(data).toMatchObject({ title: 'new', score: 0 })
  const edited = { ...data, score: 4, rank: null }
  const updated = await provider.update<Item>('note', { id: data.id, data: edited, previousData: data })
  expect(updated.data).toEqual(edited)
  expect(await provider.delete('note', { id: data.id, previousData: updated.data })).toEqual(updated)
  expect(requests.slice(1)).toEqual([`PUT /note/${data.id}/ If-Match {"score":4}`, `DELETE /note/${data.id}/ If-Match`])
})

test('a write on a record that has changed since it was read is refused', async () => {
  const { data } = await provider.create<Item>('note', { data: { title: 'two', author_id: 2 } })
  await as('ann').update('note', { id: data.id, data: { score: 1 } })
  const change = { id: data.id, data: { ...data, score: 2 }, previousData: data }
  expect(await refusalOf(provider.update('note', change))).toMatchObject({ status: 412 })
  expect(await refusalOf(provider.delete('note', change))).toMatchObject({ status: 412 })
})

test('a write on a record that was only read in a list is sent without If-Match', async () => {
  const { data } = await provider.getList<Item>('note', { filter: { id: 1 } })
  const [note = { id: 0 }] = data
  await as('ann').update('note', { id: 1, data: { ...note, rank: 3 }, previousData: note })
  expect(requests.at(-1)).toBe('PUT /note/1/ {"rank":3}')
})

test('updateMany and deleteMany send a request for each record', async () => {
  const made = await Promise.all(
    ['x', 'y'].map((title) => provider.create<Item>('note', { data: { title, author_id: 2 } })),
  )
  const many = made.map(({ data }) => data.id)
  expect(await provider.updateMany('note', { ids: many, data: { published: true } })).toEqual({ data: many })
  expect((await provider.getMany<Item>('note', { ids: many })).data.map(({ published }) => published)).toEqual([
    true,
    true,
  ])
  expect(await provider.deleteMany('note', { ids: many })).toEqual({ data: many })
})

test('if one of many writes is refused, the error is thrown after all are done', async () => {
  const { data } = await provider.create<Item>('note', { data: { title: 'z', author_id: 2 } })
  const error = await refusalOf(provider.updateMany('note', { ids: [9999, data.id], data: { score: 77 } }))
  expect(error.status).toBe(404)
  expect((await provider.getOne<Item>('note', { id: data.id })).data['score']).toBe(77)
})

describe('with the option bulk', () => {
  let bulk: DataProvider
  beforeAll(() => {
    bulk = createDataProvider(`${world.url}/api`, { bulk: ['step', 'seat'], fetch: recording })
  })
  beforeEach(async () => {
    for (const table of ['step', 'seat']) await world.sql(`DELETE FROM "${table}"`)
  })
  const createSteps = async (count: number): Promise<readonly number[]> => {
    const steps = world.dataSource.getRepository(Step)
    await steps.insert(Array.from({ length: count }, (_, index) => ({ title: `s${index}` })))
    return (await steps.find({ order: { id: 'ASC' } })).map(({ id }) => id)
  }
  const sizes = async (): Promise<readonly number[]> =>
    (await world.dataSource.getRepository(Step).find({ order: { id: 'ASC' } })).map(({ size }) => size)

  test('updateMany and deleteMany send one request', async () => {
    const [first = 0, second = 0, third = 0] = await createSteps(3)
    const some = [first, second]
    expect(await bulk.updateMany('step', { ids: some, data: { size: 5 } })).toEqual({ data: some })
    expect(await sizes()).toEqual([5, 5, 0])
    expect(await bulk.deleteMany('step', { ids: some })).toEqual({ data: some })
    expect(await sizes()).toEqual([0])
    expect(requests).toEqual([
      `PATCH /step/?id__in=${first},${second} {"size":5}`,
      `DELETE /step/?id__in=${first},${second}`,
    ])
    const repeated = [third, third, String(third)]
    expect(await bulk.deleteMany('step', { ids: repeated })).toEqual({ data: repeated })
  })

  test('without ids no request is sent', async () => {
    expect(await bulk.updateMany('step', { ids: [], data: { size: 5 } })).toEqual({ data: [] })
    expect(await bulk.deleteMany('step', { ids: [] })).toEqual({ data: [] })
    expect(requests).toEqual([])
  })

  test('ids that do not fit one request are sent with several', async () => {
    const steps = await createSteps(501)
    await bulk.updateMany('step', { ids: steps.map(String), data: { size: 1 } })
    expect(requests).toHaveLength(2)
    expect(new Set(await sizes())).toEqual(new Set([1]))
    const seats = Array.from({ length: 60 }, (_, index) => ({ hall: `h,"${index}`, name: crypto.randomUUID() }))
    await world.dataSource.getRepository(Seat).insert(seats)
    const { data } = await bulk.getList<Item>('seat', { pagination: { page: 1, perPage: 100 } })
    requests.splice(0)
    await bulk.deleteMany('seat', { ids: data.map(({ id }) => id) })
    expect(requests).toHaveLength(2)
    expect(await world.dataSource.getRepository(Seat).count()).toBe(0)
  })

  test('an error has the messages of the fields, and nothing is written', async () => {
    const steps = await createSteps(2)
    const error = await refusalOf(bulk.updateMany('step', { ids: steps, data: { size: 1, title: 'x'.repeat(21) } }))
    expect([error.status, Object.keys(error.body.errors)]).toEqual([400, ['title', 'root']])
    expect(await sizes()).toEqual([0, 0])
  })

  test('records that do not exist are an error, but the others are written', async () => {
    const steps = await createSteps(2)
    const error = await refusalOf(bulk.updateMany('step', { ids: [...steps, 0, 99_999], data: { size: 1 } }))
    expect([error.status, error.message]).toEqual([404, '2 of the 4 records do not exist'])
    expect(await sizes()).toEqual([1, 1])
    expect((await refusalOf(bulk.deleteMany('step', { ids: [...steps, 0] }))).status).toBe(404)
    expect(await sizes()).toEqual([])
  })

  test.each<readonly [bulk: boolean | readonly string[], methods: readonly string[]]>([
    [true, ['PATCH', 'DELETE']],
    [false, ['PUT', 'PUT', 'DELETE', 'DELETE']],
    [['seat'], ['PUT', 'PUT', 'DELETE', 'DELETE']],
  ])('other resources get one request for each record: %j', async (option, methods) => {
    const other = createDataProvider(`${world.url}/api`, { bulk: option, fetch: recording })
    const steps = await createSteps(2)
    await other.updateMany('step', { ids: steps, data: { size: 7 } })
    expect(await sizes()).toEqual([7, 7])
    await other.deleteMany('step', { ids: steps })
    expect(requests.map((line) => line.split(' ')[0])).toEqual(methods)
  })

  test('a resource without bulk writes refuses them', async () => {
    const wrong = createDataProvider(`${world.url}/api`, { username: 'bob', password: 'bob', bulk: true })
    expect((await refusalOf(wrong.deleteMany('note', { ids: [9999] }))).status).toBe(405)
  })
})

const write = { title: 'a title of more than twenty', score: 'five', author_id: 99 }
test.each<readonly [name: string, work: () => Promise<unknown>, status: number, fields: readonly string[]]>([
  ['values of a create', () => provider.create('note', { data: write }), 400, ['title', 'score', 'author_id']],
  ['values of an update', () => provider.update('note', { id: 1, data: write }), 400, ['title', 'score', 'author_id']],
  ['missing fields', () => provider.create('note', { data: {} }), 400, ['title', 'author_id']],
  ['a filter', () => provider.getList('note', { filter: { nope: 1 } }), 400, ['nope']],
  ['a record that does not exist', () => provider.getOne('note', { id: 999 }), 404, []],
  ['a record of another user', () => provider.update('message', { id: 1, data: { message: 'x' } }), 403, []],
  ['a resource that the user may not read', () => provider.getList('user', {}), 401, []],
])('an error has the messages of the fields: %s', async (_, work, status, fields) => {
  const error = await refusalOf(work())
  expect(error.status).toBe(status)
  expect(Object.keys(error.body.errors).toSorted()).toEqual([...fields, 'root'].toSorted())
  expect(error.body.errors['root']).toEqual({ serverError: error.message })
  for (const field of fields) expect(error.body.errors[field]).toEqual(expect.any(String))
})

test('a request can be aborted by a signal', async () => {
  const signal = AbortSignal.abort()
  await expect(provider.getList('note', { signal })).rejects.toMatchObject({ name: 'AbortError' })
})

test('after signing in, the identity is known and the credentials are sent', async () => {
  const { authProvider, fetch: send } = createBasicAuth(`${world.url}/api`)
  const own = createDataProvider(`${world.url}/api`, { fetch: send })
  await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
  await expect(own.getList('message', {})).rejects.toMatchObject({ status: 401 })
  await expect(authProvider.login({ username: 'bob', password: 'no' })).rejects.toThrow('password is wrong')
  await authProvider.login({ username: 'bob', password: 'bob' })
  await authProvider.checkAuth()
  expect(await authProvider.getIdentity()).toEqual({ id: 2, fullName: 'bob' })
  expect((await own.getList('message', {})).data).toHaveLength(3)
  await authProvider.logout()
  await expect(authProvider.checkAuth()).rejects.toThrow('Nobody has signed in')
})

test('without a session endpoint, a path that requires a user is used to check credentials', async () => {
  const { authProvider } = createBasicAuth(`${world.url}/api/`, { check: '/message/?limit=1' })
  await expect(authProvider.login({ username: 'bob', password: 'no' })).rejects.toThrow('password is wrong')
  await authProvider.login({ username: 'bob', password: 'bob' })
  expect(await authProvider.getIdentity()).toEqual({ id: 'bob', fullName: 'bob' })
})

test('a 401 ends the session only if the credentials are no longer valid', async () => {
  const { authProvider } = createBasicAuth(`${world.url}/api`)
  await authProvider.login({ username: 'Zoë', password: 'Zoë' })
  for (const status of [401, 403, 500]) await authProvider.checkError({ status })
  await world.dataSource.getRepository(User).update(5, { active: false })
  await authProvider.checkError({ status: 403 })
  await expect(authProvider.checkError({ status: 401 })).rejects.toThrow('password is wrong')
})
