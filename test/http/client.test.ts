import { createServer, type RequestListener, type Server } from 'node:http'
import {
  Column,
  type DataSource,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import {
  type Client,
  type ClientOptions,
  createClient,
  type Excluding,
  etagOf,
  type FiltersOf,
  ResourceError,
} from 'typeorm-resources/client'
import { permitAllAsUser1 } from '../support/access'
import { listen } from '../support/listen'
import { rejection } from '../support/rejection'
import { keysOfTwo } from '../tables/keys'
import { entities, type Language, type LanguageWord, type Message, type Note, User } from '../world/entities'
import { openWorld, seedWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Ware {
  @PrimaryColumn({ length: 20 }) shop!: string
  @PrimaryColumn({ length: 20 }) article!: string
  @Column({ default: 0 }) amount!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1, aggregate: true })
class Sale {
  @PrimaryGeneratedColumn() id!: number
  @Column() pieces!: number
  @Column({ type: 'decimal', precision: 10, scale: 2, nullable: true }) price!: string | null
  @Column({ type: 'date' }) day!: string
  @ManyToOne(() => User, { nullable: true }) buyer!: Relation<User> | null
}

interface Resources {
  user: Excluding<User, 'password' | 'email'>
  note: Excluding<Note, 'secret' | 'vault'>
  message: Message
  language: Language
  word: LanguageWord
  ware: Ware
  sale: Sale
}

let world: World
let api: Client<Resources>
const clientOf = (options?: ClientOptions): Client<Resources> => createClient<Resources>(`${world.url}/api/`, options)
beforeAll(async () => {
  world = await openWorld({ entities: [...entities, Ware, Sale], seed: seedSales })
  api = clientOf({ username: 'bob', password: 'bob' })
})
afterAll(() => world.close())

async function seedSales(dataSource: DataSource): Promise<void> {
  await seedWorld(dataSource)
  await dataSource.getRepository(Sale).insert([
    { pieces: 2, price: '0.10', day: '2025-01-01', buyer: { id: 1 } },
    { pieces: 3, price: '0.20', day: '2025-01-05', buyer: { id: 1 } },
    { pieces: 10, price: null, day: '2025-01-06', buyer: { id: 2 } },
    { pieces: 1, price: '7.00', day: '2025-01-06', buyer: null },
  ])
}

const refusalOf = (work: Promise<unknown>): Promise<ResourceError> => rejection(work, ResourceError)

describe('list', () => {
  const lists: readonly (readonly [
    rule: string,
    request: () => Promise<{ objects: readonly { id: number }[] }>,
    number[],
  ])[] = [
    ['Names of filters: a name alone is equality', () => api.note.list({ score: 9 }), [8, 9]],
    ['Operators: operators', () => api.note.list({ score__gte: 8, score__lt: 10 }), [4, 8, 9]],
    ['Operators: a pattern', () => api.note.list({ title__ilike: 'É%' }, { ordering: 'id' }), [5, 6]],
    ['Operators: a percent sign, a star and brackets', () => api.note.list({ title: '100% a_b*?[c]' }), [7]],
    [
      'Operators: members with commas and quotes',
      () => api.note.list({ title__in: ['a,b', 'x"y', 'alpha'] }),
      [1, 8, 9],
    ],
    ['Operators: the empty text as a member', () => api.note.list({ title__in: ['', 'alpha'] }), [1]],
    ['Operators: numbers as members', () => api.note.list({ id__in: [1, 3] }), [1, 3]],
    ['Operators: booleans', () => api.note.list({ published: false, published__is: false, id__lte: 5 }), [3, 5]],
    ['Operators: null', () => api.note.list({ rank__is: 'not_null' }), [4, 5, 10]],
    ['Values in JSON: integers that no number holds', () => api.note.list({ big: '9007199254740993' }), [10]],
    [
      'Date-times: a Date, to its millisecond',
      () => api.note.list({ created: new Date('2024-01-01T10:20:30.512Z') }),
      [1],
    ],
    [
      'Date-times: a Date to the second stands for all of it',
      () => api.note.list({ created: new Date('2024-01-01T10:20:30Z') }),
      [1],
    ],
    ['Date-times: a text with an offset', () => api.note.list({ created__gt: '2024-06-01T13:59:59+02:00' }), [10]],
    ['Filters through relations', () => api.note.list({ author__username: 'Zoë' }), [5, 6]],
    ['Filters through relations: two of them', () => api.note.list({ parent__author__username: 'bob' }), [3, 10]],
    [
      'Names of filters: foreign keys by both names',
      () => api.note.list({ author: 2, author_id__in: [2, 5] }),
      [2, 4, 8, 9],
    ],
    ['Names of filters: reserved words as fields', () => api.note.list({ limit: 7, id: 4 }), [4]],
    ['Names of filters: reserved words as fields, of another value', () => api.note.list({ limit: 8, id: 4 }), []],
    ['undefined is left out', () => api.note.list({ id: 4, title: undefined }), [4]],
    [
      'Groups: or',
      () => api.note.list({ published: true, or: [{ score: 3 }, { score__gte: 9, rank__is: 'null' }] }),
      [2, 8],
    ],
    ['Groups: not', () => api.note.list({ not: { score__gte: 1, author__username__in: ['ann', 'bob'] } }), [5, 6]],
    [
      'Groups: groups in groups, with values that have to be quoted',
      () =>
        api.note.list({
          or: [
            { title__in: ['a,b', 'x"y'], not: { score: 8 } },
            { title: '100% a_b*?[c]' },
            { and: [{ title__like: '%(%' }] },
          ],
        }),
      [7, 8, 9],
    ],
    ['Groups: and', () => api.note.list({ and: [{ score__gte: 5 }, { not: { score__gt: 5 } }] }), [1, 3]],
    [
      'Groups: undefined is left out in groups',
      () => api.note.list({ or: [{ id: 4, title: undefined }], not: undefined }),
      [4],
    ],
    ['Ordering', () => api.note.list({ score__gte: 8 }, { ordering: '-score' }), [10, 8, 9, 4]],
    [
      'Ordering: ordering by several',
      () => api.note.list({ score__gte: 8 }, { ordering: ['-published', 'score', '-id'] }),
      [4, 8, 10, 9],
    ],
    ['Pages: limit and page', () => api.note.list({}, { ordering: 'id', limit: 3, page: 2 }), [4, 5, 6]],
  ]
  test.each(lists)('%s', async (_, request, ids) => {
    const { objects } = await request()
    expect(objects.map(({ id }) => id)).toEqual(ids)
  })

  test('Collection envelope', async () => {
    const { meta } = await api.note.list({ score__gte: 0 }, { limit: 2, page: 2 })
    expect(meta).toEqual({
      model: 'note',
      page: 2,
      next: '/api/note/?score__gte=0&limit=2&page=3',
      previous: '/api/note/?score__gte=0&limit=2&page=1',
    })
  })

  test('Counts: totals', async () => {
    const { meta, objects } = await api.note.list({ score__gte: 5 }, { limit: 0, count: 'exact' })
    expect([meta.total, meta.total_capped, objects]).toEqual([6, undefined, []])
    const capped = await api.note.list({ score__gte: 5 }, { limit: 1, count: 'capped' })
    expect([capped.meta.total, capped.meta.total_capped, capped.objects.length]).toEqual([6, false, 1])
  })

  test('Selected fields', async () => {
    const { objects } = await api.note.list({ id__lte: 2 }, { fields: ['title', 'author_id'] })
    expect(objects.map((note) => Object.keys(note).toSorted())).toEqual([
      ['author_id', 'id', 'title'],
      ['author_id', 'id', 'title'],
    ])
    const read = await api.note.get(1, { fields: ['score'] })
    const { score } = await api.note.get(1)
    expect(read).toEqual({ id: 1, score })
    for await (const note of api.note.all({}, { fields: ['id'], limit: 3 })) expect(Object.keys(note)).toEqual(['id'])
  })

  test('Aggregates: groups, with filters on records and on groups, orderings and pages', async () => {
    const { objects, meta } = await api.sale.aggregate(
      { pieces__lte: 10 },
      {
        functions: ['count', 'pieces__sum', 'price__sum', 'pieces__avg', 'day__max', 'price__count_distinct'],
        by: ['buyer__username', 'day__week'],
        having: { count__gte: 1, pieces__sum__lt: 10, day__max__lte: '2025-01-05' },
        ordering: '-pieces__sum',
        limit: 1,
      },
    )
    expect(objects).toEqual([
      {
        ...{ buyer__username: 'ann', day__week: '2024-12-30', count: 2, pieces__sum: 5, price__sum: '0.30' },
        ...{ pieces__avg: 2.5, day__max: '2025-01-05', price__count_distinct: 2 },
      },
    ])
    expect(meta.next).toBe('')
    const byBuyer = { functions: ['count', 'price__sum'], by: ['buyer'], limit: 1 } as const
    const { meta: first } = await api.sale.aggregate({ not: { pieces: 99 } }, byBuyer)
    expect(first.next).toContain('page=2')
    const { objects: last } = await api.sale.aggregate({}, { ...byBuyer, page: 3 })
    expect(last).toEqual([{ buyer: 2, count: 1, price__sum: null }])
    const { objects: total } = await api.sale.aggregate({ pieces__gt: 99 }, { functions: ['count', 'pieces__sum'] })
    expect(total).toEqual([{ count: 0, pieces__sum: null }])
  })

  test('Aggregates: a resource without the option refuses them', async () => {
    const { status } = await refusalOf(api.ware.aggregate({}, { functions: ['count'] }))
    expect(status).toBe(400)
  })

  test.each<readonly [name: string, filters: FiltersOf<Resources['note'], Resources>]>([
    ['or', { or: [] }],
    ['or', { or: [{}] }],
    ['not', { not: { id: undefined } }],
  ])('Groups: an empty group is refused instead of being omitted: %s', async (name, filters) => {
    const { status, errors } = await refusalOf(api.note.list(filters))
    expect([status, errors.map(({ field }) => field)]).toEqual([400, [name]])
  })

  test('Operators: an empty list is refused instead of being omitted', async () => {
    const { status, errors } = await refusalOf(api.note.list({ id__in: [] }))
    expect([status, errors.map(({ field }) => field)]).toEqual([400, ['id__in']])
  })
})

describe('all', () => {
  const walks = [
    ['pages', { limit: 3 }],
    ['pages, from the second on', { limit: 4, page: 2 }],
    ['keyset', { limit: 3, after: '' }],
    ['one page', {}],
  ] as const
  test.each(walks)('Links: follows next: %s', async (_, options) => {
    const seen: number[] = []
    for await (const { id } of api.note.all({ score__gte: 0 }, { ordering: ['score', 'id'], ...options })) seen.push(id)
    const every = await api.note.list({ score__gte: 0 }, { ordering: ['score', 'id'] })
    expect(seen).toEqual(every.objects.map(({ id }) => id).slice('page' in options ? 4 : 0))
    expect(seen.length).toBeGreaterThan(4)
  })

  test('requests no more pages than are read', async () => {
    world.statements()
    for await (const _ of clientOf().note.all({}, { limit: 2 })) break
    expect(world.statements()).toHaveLength(1)
  })
})

describe('records', () => {
  test('Record representation: a record has the fields of its type', async () => {
    const note = await api.note.get(10)
    expect(note).toMatchObject({
      author_id: 1,
      parent_id: 4,
      created: '2024-06-01 12:00:00',
      published: true,
      tags: ['x', 'y'],
    })
    expect(note).not.toHaveProperty('secret')
    expect(await api.language.get('fra')).toEqual({ id: 'fra', code: 'fra', name: 'French' })
  })

  test('Results of writes, Foreign keys, Date-times: create, update with a Date, read, delete', async () => {
    const made = await api.note.create({
      title: 'made',
      author_id: 2,
      created: new Date('2024-02-29T10:20:30Z'),
      secret: 'x',
    })
    expect(made).toMatchObject({ title: 'made', author_id: 2, created: '2024-02-29 10:20:30' })
    expect(await api.note.update(made.id, { score: 77, parent_id: 1 })).toEqual({ ...made, score: 77, parent_id: 1 })
    expect(await api.note.update(made.id, await api.note.get(made.id))).toMatchObject({ score: 77 })
    expect(await api.note.delete(made.id)).toBeUndefined()
    expect((await refusalOf(api.note.get(made.id))).status).toBe(404)
  })

  test('Values in JSON: a bigint is sent as a number if a double can represent it, otherwise as a string', async () => {
    const values = { title: 'big', author_id: 2 }
    const wide = { ...values, big: (2n ** 60n) as unknown as string }
    const safe = { ...values, big: 5n as unknown as string }
    const notes = [await api.note.create(wide), await api.note.create(safe)]
    expect(notes.map(({ big }) => big)).toEqual(['1152921504606846976', 5])
    for (const { id } of notes) await api.note.delete(id)
  })

  test.each(keysOfTwo)('the id of the key columns %s and %s is %s', async (shop, article, id) => {
    const made = await api.ware.create({ shop, article })
    expect(made.id).toBe(id)
    expect(await api.ware.get(made.id)).toEqual(made)
    expect((await api.ware.list({ id: made.id })).objects).toEqual([made])
    await api.ware.delete(made.id)
  })

  test.each(['', '.', '..'])('an id that would change the path is refused: "%s"', async (id) => {
    world.statements()
    expect((await refusalOf(api.language.get(id))).status).toBe(404)
    expect((await refusalOf(api.note.delete(id))).status).toBe(404)
    expect(world.statements()).toEqual([])
  })

  test('RFC 9110: with ifMatch the second of two writers is refused', async () => {
    const { id } = await api.note.create({ title: 'tagged', author_id: 2 })
    const read = await api.note.get(id)
    const changed = await api.note.update(id, { score: 1 }, { ifMatch: etagOf(read) })
    const late = await refusalOf(api.note.update(id, { score: 2 }, { ifMatch: etagOf(read) }))
    expect([late.status, late.problem?.type]).toEqual([412, 'urn:typeorm-resources:precondition-failed'])
    expect((await refusalOf(api.note.delete(id, { ifMatch: etagOf(read) }))).status).toBe(412)
    await api.note.delete(id, { ifMatch: etagOf(changed) })
    const [listed] = (await api.note.list({}, { limit: 1 })).objects
    expect(listed && etagOf(listed)).toBeUndefined()
  })
})

describe('errors', () => {
  test('Error documents: an error has all mistakes of the body, by field', async () => {
    const { status, problem, errors, message } = await refusalOf(
      api.note.create({ title: 'x'.repeat(21), score: 1.5, author_id: 2 }),
    )
    expect(errors.map(({ field }) => field).toSorted()).toEqual(['score', 'title'])
    expect([status, problem?.status, problem?.type]).toEqual([400, 400, 'urn:typeorm-resources:bad-values'])
    expect(message).toBe(problem?.detail)
  })

  test('Refusal by the access rule: the message of the error is the plain text', async () => {
    const wrong = clientOf({ username: 'bob', password: 'wrong' })
    const refusals = [refusalOf(clientOf().note.create({ title: 'a' })), refusalOf(wrong.note.delete(1))]
    for (const error of await Promise.all(refusals))
      expect(error).toMatchObject({ status: 401, problem: undefined, errors: [], message: 'Authentication failed' })
  })

  test('Admin rule, Order of checks: administrators can read what others cannot; a conflict is 409', async () => {
    expect((await refusalOf(api.user.list())).status).toBe(401)
    const admin = clientOf({ username: 'ann', password: 'ann' })
    expect((await admin.user.list({ username: 'Zoë' })).objects).toMatchObject([{ id: 5 }])
    expect((await refusalOf(admin.user.create({ username: 'bob', password: 'b' }))).status).toBe(409)
  })

  test('RFC 7617: credentials are encoded as UTF-8', async () => {
    const { id } = await clientOf({ username: 'Zoë', password: 'Zoë' }).note.create({ title: 'z', author_id: 5 })
    await api.note.delete(id)
  })

  test('Hidden fields: a hidden field is unknown to the types and to the service', async () => {
    // @ts-expect-error: it is excluded
    const { errors } = await refusalOf(api.note.list({ secret: 'x' }))
    expect(errors).toMatchObject([{ field: 'secret' }])
  })

  test("a name that is not a resource gets Koa's 404", async () => {
    // @ts-expect-error: no such resource
    expect(await refusalOf(api.nothing.list())).toMatchObject({ status: 404, problem: undefined, message: 'Not Found' })
  })

  test('given headers replace those of the client, whatever their case; an own fetch is called', async () => {
    const authorization = `Basic ${btoa('bob:bob')}`
    const urls: string[] = []
    const custom = clientOf({
      username: 'nobody',
      headers: { authorization },
      fetch: (url, request) => {
        urls.push(String(url))
        return fetch(url, request)
      },
    })
    const { id } = await custom.note.create({ title: 'h', author_id: 2 })
    await custom.note.delete(id)
    expect(urls).toEqual([`${world.url}/api/note/`, `${world.url}/api/note/${id}/`])
  })

  test('a client can be returned from an async function, since it has no then', async () => {
    expect(await Promise.resolve(api)).toBe(api)
  })
})

describe('with other responses than those of the service', () => {
  let server: Server
  let url: string
  let methods: string[]
  const listeners: RequestListener[] = []
  /** Makes the server respond to one request after another with these listeners, then as the service. */
  const serve = async (...next: RequestListener[]): Promise<Client<Resources>> => {
    methods = []
    listeners.splice(0, listeners.length, ...next)
    return createClient<Resources>(`${url}/api`, {
      username: 'bob',
      password: 'bob',
    })
  }
  beforeAll(async () => {
    const service = world.app.callback()
    server = createServer((request, response) => {
      methods.push(request.method ?? '')
      const listener = listeners.shift() ?? service
      listener(request, response)
    })
    url = await listen(server)
  })
  afterAll(() => new Promise((closed) => server.close(closed)))

  const busy =
    (retryAfter: string | undefined, status = 503): RequestListener =>
    (_, response) => {
      const headers = { 'Content-Type': 'text/plain', ...(retryAfter !== undefined && { 'Retry-After': retryAfter }) }
      response.writeHead(status, headers).end('busy')
    }
  const soon = (): string => new Date(Date.now() + 1500).toUTCString()

  test.each([
    ['seconds', () => '0'],
    ['an HTTP date', soon],
    ['a date that is past', () => 'Wed, 21 Oct 2015 07:28:00 GMT'],
  ])('503 with Retry-After as %s is retried', async (_, retryAfter) => {
    const client = await serve(busy(retryAfter()), busy(retryAfter()))
    expect(await client.note.get(1)).toMatchObject({ title: 'alpha' })
    expect(methods).toEqual(['GET', 'GET', 'GET'])
  })

  test('waits as long as Retry-After says', async () => {
    const client = await serve(busy('1'))
    const start = performance.now()
    await client.note.get(1)
    expect(performance.now() - start).toBeGreaterThan(990)
  })

  test('PUT and DELETE are retried with the same body', async () => {
    const { id } = await api.note.create({ title: 'again', author_id: 2 })
    const client = await serve(busy('0'))
    expect(await client.note.update(id, { score: 5 })).toMatchObject({ id, score: 5 })
    listeners.push(busy('0'))
    await client.note.delete(id)
    expect(methods).toEqual(['PUT', 'PUT', 'DELETE', 'DELETE'])
  })

  const refused: readonly (readonly [
    string,
    RequestListener,
    (client: Client<Resources>) => Promise<unknown>,
    number,
  ])[] = [
    ['a POST, which may have succeeded', busy('0'), (client) => client.note.create({ title: 'a' }), 503],
    ['a response without Retry-After', busy(undefined), (client) => client.note.get(1), 503],
    ['an invalid Retry-After', busy('soon'), (client) => client.note.get(1), 503],
    ['a Retry-After of more than 30 seconds', busy('31'), (client) => client.note.get(1), 503],
    ['another status', busy('0', 429), (client) => client.note.get(1), 429],
  ]
  test.each(refused)('is not retried: %s', async (_, listener, request, status) => {
    const client = await serve(listener)
    expect(await refusalOf(request(client))).toMatchObject({ status, message: 'busy' })
    expect(methods).toHaveLength(1)
  })

  test('gives up after two retries', async () => {
    const client = await serve(busy('0'), busy('0'), busy('0'))
    expect((await refusalOf(client.note.get(1))).status).toBe(503)
    expect(methods).toHaveLength(3)
  })

  const say =
    (status: number, type: string, text: string): RequestListener =>
    (_, response) =>
      void response.writeHead(status, { 'Content-Type': type }).end(text)
  const problem = 'application/problem+json'
  test.each([
    ['a page of a proxy', say(502, 'text/html', '<html>…</html>'), 502, '502 Bad Gateway'],
    ['nothing', say(500, 'text/plain', ''), 500, '500 Internal Server Error'],
    ['a long text', say(500, 'text/plain', 'x'.repeat(9999)), 500, 'x'.repeat(200)],
    ['a truncated problem document', say(400, problem, '{"detail":'), 400, '{"detail":'],
    ['a problem document that is null', say(400, problem, 'null'), 400, 'null'],
    ['a problem document whose detail is not a string', say(400, problem, '{"detail":5}'), 400, '{"detail":5}'],
    ['a problem document of another service', say(400, problem, '{"detail":"no","errors":{"a":[]}}'), 400, 'no'],
  ])('every error response becomes an error: %s', async (_, listener, status, message) => {
    const client = await serve(listener)
    expect(await refusalOf(client.note.get(1))).toMatchObject({ status, message, errors: [] })
  })

  test.each(['', '"type":null,'])('a problem document without a type has the default of RFC 9457: %j', async (type) => {
    const client = await serve(say(502, problem, `{${type}"status":502,"detail":"no answer"}`))
    const { problem: received } = await refusalOf(client.note.get(1))
    expect(received).toEqual({ type: 'about:blank', status: 502, detail: 'no answer' })
  })

  test('a successful response that is not JSON is an error, since the URL may be wrong', async () => {
    const client = await serve(say(200, 'text/html', '<html>'))
    expect(await refusalOf(client.note.get(1))).toMatchObject({
      status: 200,
      message: expect.stringMatching(/^the response of .*\/api\/note\/1\/ is not JSON$/),
    })
  })

  test('Links: follows next if a proxy has changed the path', async () => {
    const client = createClient<Resources>(`${url}/site/api`)
    const onward: RequestListener = (request, response) => {
      request.url = request.url?.replace('/site', '') ?? ''
      world.app.callback()(request, response)
    }
    await serve(onward, onward, onward)
    const seen: string[] = []
    for await (const { title } of client.note.all({ id__lte: 5 }, { limit: 2 })) seen.push(title)
    expect(seen).toHaveLength(5)
  })

  test('a signal aborts a request, and the reason is thrown', async () => {
    const control = new AbortController()
    const client = await serve(() => control.abort(new Error('enough')))
    await expect(client.note.get(1, { signal: control.signal })).rejects.toThrow('enough')
  })

  test.each([
    ['before the response ends', (control: AbortController) => control.abort(new Error('enough'))],
    ['while it waits', (control: AbortController) => void setTimeout(() => control.abort(new Error('enough')), 100)],
  ])('a signal aborts the wait before a retry: %s', async (_, abort) => {
    const control = new AbortController()
    const client = await serve((request, response) => {
      busy('20')(request, response)
      abort(control)
    })
    const start = performance.now()
    await expect(client.note.list({}, { signal: control.signal })).rejects.toThrow('enough')
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(methods).toHaveLength(1)
  })

  test('there is no wait if the signal was aborted just before', async () => {
    const control = new AbortController()
    const answer = async (): Promise<Response> => {
      control.abort(new Error('enough'))
      return new Response(null, { status: 503, headers: { 'Retry-After': '20' } })
    }
    const start = performance.now()
    await expect(clientOf({ fetch: answer }).note.get(1, { signal: control.signal })).rejects.toThrow('enough')
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('a signal aborts a walk through all pages', async () => {
    const control = new AbortController()
    const walk = async (): Promise<void> => {
      for await (const _ of api.note.all({}, { limit: 1, signal: control.signal })) control.abort(new Error('enough'))
    }
    await expect(walk()).rejects.toThrow('enough')
  })
})
