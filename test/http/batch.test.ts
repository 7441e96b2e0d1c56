import Ajv2020 from 'ajv/dist/2020'
import {
  Column,
  type DataSource,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  VersionColumn,
} from 'typeorm'
import { type Principal, problem, Resource, readOnlyRule, UserAccount, userRule } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from '../client'
import { permitAll } from '../support/access'
import { unhashed } from '../support/unhashed'
import { openWorld, type World } from '../world/world'

/** Batches: several writes in one transaction. */

interface Me extends Principal {
  readonly team?: string
}
const teamOf = (me: Principal) => ({ team: (me as Me).team ?? null })

@Entity()
@UserAccount({ ...unhashed, principal: ['team'] })
@Resource({ auth: userRule(), exclude: ['password'] })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
  @Column({ default: 'red' }) team!: string
}

@Entity()
@Resource({ auth: userRule(), scope: teamOf, may: { update: () => ({ before: { state: 'open' }, after: true }) } })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 40 }) name!: string
  @Column({ default: 'red', length: 20 }) team!: string
  @Column({ default: 'open', length: 20 }) state!: string
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
}

@Entity()
@Resource({ ownerField: 'owner' })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) title!: string
  @VersionColumn() version!: number
  @ManyToOne(() => Member, { nullable: false }) owner!: Relation<Member>
  @ManyToOne(() => Project) project!: Relation<Project> | null
}

/** Updated with one statement, on databases with RETURNING. Its key is in the body. */
@Entity()
@Resource({ auth: permitAll, bulk: 3 })
class Tag {
  @PrimaryColumn({ length: 20 }) code!: string
  @Column({ unique: true, length: 20 }) label!: string
  @ManyToOne(() => Tag) parent!: Relation<Tag> | null
}

@Entity()
@Resource({ auth: readOnlyRule() })
class Notice {
  @PrimaryGeneratedColumn() id!: number
}

/** Is written by a subscriber. */
@Entity()
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

/** Events, each with the id of the principal. */
const events: string[] = []

@EventSubscriber()
class Recorder implements EntitySubscriberInterface<Task> {
  listenTo = () => Task
  async afterInsert({ entity, manager, queryRunner }: InsertEvent<Task>): Promise<void> {
    const principal = queryRunner.data['principal'] as Principal | undefined
    if (principal === undefined) return
    const { id } = principal
    events.push(`${entity.title} by ${id}${queryRunner.isTransactionActive ? '' : ' outside of a transaction'}`)
    await manager.insert(Log, { text: entity.title })
    if (entity.title === 'veto') throw problem(409, 'vetoed', { field: 'title' })
    if (entity.title === 'fault') throw new Error('a fault of the listener')
  }
}

const entities = [Member, Project, Task, Tag, Notice, Log]
const tables = ['project', 'task', 'tag', 'log']

const seed = async ({ manager }: DataSource): Promise<void> => {
  for (const [username, team] of [
    ['ann', 'red'],
    ['bob', 'red'],
    ['cas', 'blue'],
  ])
    await manager.insert(Member, { username: username ?? '', password: username ?? '', team: team ?? '' })
  await manager.insert(Project, [
    { name: 'red one', team: 'red' },
    { name: 'blue one', team: 'blue' },
    { name: 'closed', team: 'red', state: 'closed' },
  ])
  await manager.insert(Task, { title: 'of ann', owner: { id: 1 }, project: { id: 1 } })
  await manager.insert(Tag, { code: 'first', label: 'First' })
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities, seed, mount: { batch: 20 }, source: { subscribers: [Recorder] } })
})
beforeEach(() => {
  events.length = 0
})
afterAll(() => world.close())

const batch = (operations: unknown, options: SendOptions = { as: 'bob' }): Promise<Reply> =>
  send(world.url, 'POST /api/-/batch', { ...options, body: operations })

interface Result {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>> | null
}
const resultsOf = (reply: Reply): readonly Result[] => {
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as { readonly results: readonly Result[] }).results
}

const stored = async (): Promise<unknown> =>
  Promise.all(tables.map((table) => world.sql(`SELECT * FROM "${table}" ORDER BY 1`)))

const post = (path: string, body: unknown) => ({ method: 'POST', path: `/api/${path}/`, body })

const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })
const tag = (code: string) => post('tag', { code, label: code })
const refusal = (code: string, detail: string) => ({ type: `urn:typeorm-resources:${code}`, detail })
const badPath = 'path must be the path of a resource or of a record, such as /api/<resource>/'

/** Operations after one that could be written, and the refusal of the last of them. */
const refusals: readonly (readonly [name: string, operations: readonly unknown[], status: number, problem: object])[] =
  [
    ['a missing record', [{ method: 'DELETE', path: '/api/tag/none/' }], 404, refusal('not-found', '')],
    [
      'a key that the database cannot read',
      [{ method: 'DELETE', path: '/api/task/99999999999/' }],
      404,
      refusal('not-found', 'there is no task with this id'),
    ],
    ['a record out of scope', [{ method: 'PUT', path: '/api/project/2/', body: {} }], 404, refusal('not-found', '')],
    [
      'a reference to a record out of scope',
      [post('task', { title: 't', project_id: 2 })],
      400,
      { errors: [{ field: 'project_id', message: 'points to no project' }] },
    ],
    ['a new record out of scope', [post('project', { name: 'p', team: 'blue' })], 403, refusal('forbidden', '')],
    [
      'a record that may not be changed',
      [{ method: 'PUT', path: '/api/project/3/', body: { name: 'p' } }],
      403,
      refusal('forbidden', ''),
    ],
    [
      'a record that may not be changed since an earlier operation',
      [
        { method: 'PUT', path: '/api/project/1/', body: { state: 'closed' } },
        { method: 'PUT', path: '/api/project/1/', body: { name: 'r' } },
      ],
      403,
      refusal('forbidden', 'you may not change this project'),
    ],
    ['another owner', [{ method: 'DELETE', path: '/api/task/1/' }], 403, refusal('not-owner', '')],
    ['a unique violation', [post('tag', { code: 'x', label: 'First' })], 409, refusal('conflict', '')],
    [
      'a unique violation of an earlier operation',
      [tag('x'), tag('x')],
      409,
      refusal('conflict', 'another tag has the same '),
    ],
    [
      'a unique violation of an update',
      [tag('x'), { method: 'PUT', path: '/api/tag/x/', body: { label: 'First' } }],
      409,
      { errors: [{ field: 'label', message: 'is taken by another tag' }] },
    ],
    [
      'wrong values',
      [post('task', { title: 5, nope: 1 })],
      400,
      {
        errors: [
          { field: 'title', message: 'must be text of at most 40 characters' },
          { field: 'nope', message: expect.stringContaining('is not a field') },
        ],
      },
    ],
    ['a missing body', [{ method: 'POST', path: '/api/tag/' }], 400, refusal('bad-body', 'the body must be one JSON')],
    ['a body that is an array', [post('task', [])], 400, refusal('bad-body', 'the body must be one JSON')],
    [
      'records of an array',
      [tag('x'), post('tag', [{ code: 'y', label: 'y' }, { code: 'x', label: 'z' }, { code: 'z' }])],
      400,
      { errors: [{ index: 2, field: 'label', message: 'is required' }] },
    ],
    [
      'a unique violation of an array',
      [
        tag('x'),
        post('tag', [
          { code: 'y', label: 'y' },
          { code: 'z', label: { $ref: '1.label' } },
        ]),
      ],
      409,
      { errors: [{ index: 1, field: 'label', message: 'is taken by another tag' }] },
    ],
    [
      'an array that is only checked',
      [{ method: 'POST', path: '/api/tag/?dry_run=true', body: [{ code: 'x', label: 'x' }] }],
      400,
      refusal('bad-query', 'dry_run is not possible in a batch'),
    ],
    [
      'an array with included records',
      [{ method: 'POST', path: '/api/tag/?include=parent', body: [{ code: 'x', label: 'x' }] }],
      400,
      refusal('bad-query', 'include is not possible for several records'),
    ],
    [
      'more matching records than max',
      [tag('x'), { method: 'PATCH', path: '/api/tag/?code__in=x,0&max=1', body: { parent_id: 'first' } }],
      409,
      refusal('conflict', 'more than 1 records match'),
    ],
    ['a write without filters', [{ method: 'DELETE', path: '/api/tag/' }], 400, refusal('bad-query', '')],
    [
      'PATCH on a collection without the option bulk',
      [{ method: 'PATCH', path: '/api/task/?id=1', body: {} }],
      405,
      refusal('method-not-allowed', 'PATCH is not allowed here'),
    ],
    ['a wrong query', [{ method: 'POST', path: '/api/tag/?include=nope', body: {} }], 400, refusal('bad-query', '')],
    [
      'an include in a query',
      [{ method: 'PUT', path: '/api/tag/first/?include=nope', body: {} }],
      400,
      refusal('bad-query', ''),
    ],
    ['POST on a record', [post('tag/first', {})], 405, refusal('method-not-allowed', 'POST is not allowed here')],
    ['a problem of a listener', [post('task', { title: 'veto' })], 409, { type: 'about:blank', detail: 'vetoed' }],
    [
      'another method',
      [{ method: 'GET', path: '/api/tag/' }],
      400,
      refusal('bad-values', 'method must be one of POST'),
    ],
    ['a method in lower case', [{ ...tag('x'), method: 'post' }], 400, refusal('bad-values', 'method must be one of')],
    ...[
      'tag',
      '/tag/',
      '/api',
      '/api/',
      '/api/none/',
      '/api/Tag/',
      '/api/tag/x/y/',
      '//api/tag/',
      '/api//tag/',
      '/API/tag/',
    ].map((path) => [`the path ${path}`, [{ ...tag('x'), path }], 400, refusal('bad-values', badPath)] as const),
    ...[
      '/api/%74ag/',
      '/api/tag/#a',
      '/api\\tag/',
      '/api/./tag/',
      '/api/tag /',
      '/api/täg/',
      '/api/-/batch',
      '/api/openapi.json',
    ].map((path) => [`the path ${path}`, [{ ...tag('x'), path }], 400, refusal('bad-values', badPath)] as const),
    ...[
      'http://any.host/api/tag/',
      '/api/tag/\n',
      '/api/tag/?a=\u0000',
      '',
      '?',
      '/api/constructor/',
      '/api/__proto__/',
    ].map(
      (path) =>
        [`the path ${JSON.stringify(path)}`, [{ ...tag('x'), path }], 400, refusal('bad-values', badPath)] as const,
    ),
    ['a path that is no text', [{ ...tag('x'), path: 5 }], 400, refusal('bad-values', 'path must be the path')],
    ...[null, 5, 'x', []].map(
      (operation) =>
        [`the operation ${JSON.stringify(operation)}`, [operation], 400, refusal('bad-values', '')] as const,
    ),
    [
      'every mistake of an operation',
      [
        {
          method: 'PUT ',
          path: null,
          headers: { 'If-Match': 1, 'X-Other': 'a', 'If-None-Match': 'a', 'if-none-match': 'a' },
          id: 1,
        },
      ],
      400,
      {
        errors: [
          { field: 'id', message: 'is not a member; members: method, path, body, headers' },
          { field: 'method', message: 'must be one of POST, PUT, PATCH, DELETE' },
          { field: 'path', message: 'must be the path of a resource or of a record, in a string' },
          { field: 'headers.If-Match', message: 'must be a string' },
          { field: 'headers.X-Other', message: 'is not one of If-Match, If-None-Match' },
          { field: 'headers.if-none-match', message: 'is given twice' },
        ],
      },
    ],
    ...[null, 'x', ['If-Match']].map(
      (headers) =>
        [
          `the headers ${JSON.stringify(headers)}`,
          [{ ...tag('x'), headers }],
          400,
          refusal('bad-values', 'headers must'),
        ] as const,
    ),
    ...[
      '1.id',
      '2.id',
      '99.id',
      '0',
      '0.',
      '.id',
      '0..id',
      'id',
      '-1.id',
      '00.id',
      '0.id.',
      ' 0.id',
      '1e0.id',
      '',
      5,
      null,
      [],
      { $ref: '0.id' },
      `0.${'x'.repeat(300)}`,
    ].map(
      ($ref) =>
        [
          `the reference ${JSON.stringify($ref)}`,
          [post('tag', { code: 'x', label: { $ref } })],
          400,
          {
            detail: expect.stringMatching(
              /^\$ref (must be the index of an earlier|refers to operation \d+, which is not before this one, operation 1)/,
            ),
          },
        ] as const,
    ),
    ...['nope', '__proto__', 'constructor', 'toString', 'id.length', 'id.0', 'parent_id.id'].map(
      (member) =>
        [
          `the reference 0.${member}`,
          [post('tag', { code: 'x', label: { $ref: `0.${member}` } })],
          400,
          {
            errors: [
              {
                field: '$ref',
                message: expect.stringMatching(/^refers to \S+, which the result of operation 0 does not have$/),
              },
            ],
          },
        ] as const,
    ),
    [
      'a reference to the result of a DELETE',
      [{ method: 'DELETE', path: '/api/tag/0/' }, post('tag', { code: 'x', label: { $ref: '1.id' } })],
      400,
      refusal('bad-values', '$ref refers to id, which the result of operation 1 does not have'),
    ],
    [
      'a reference to an object, and one to the length of an array',
      [
        post('project', { name: 'p', extra: { a: [1, { b: null }] } }),
        post('project', { name: 'q', extra: [{ $ref: '1.extra.a.0' }, { $ref: '1.extra.a.1.b' }] }),
        post('project', { name: 'r', extra: { $ref: '1.extra.a.1' } }),
      ],
      400,
      refusal('bad-values', '$ref refers to an object or an array in the result of operation 1'),
    ],
    [
      'a reference to the length of an array',
      [post('project', { name: 'p', extra: [1] }), post('project', { name: 'q', extra: { $ref: '1.extra.length' } })],
      400,
      refusal('bad-values', '$ref refers to length, which'),
    ],
    [
      'a body with many levels',
      [post('project', { name: 'p', extra: deep(200) })],
      400,
      refusal('bad-body', 'the body has more than 100 levels of arrays and objects'),
    ],
    [
      'a body with very many levels',
      [post('project', { name: 'p', extra: deep(2000) })],
      400,
      refusal('bad-body', 'the body has more than 100 levels of arrays and objects'),
    ],
  ]

describe('Batches: nothing is written, and the refusal has the index of its operation:', () => {
  let before: unknown
  beforeAll(async () => {
    before = await stored()
  })
  afterEach(async () => {
    expect(await stored()).toEqual(before)
  })

  test.each(refusals)('%s', async (_, operations, status, expected) => {
    const reply = await batch([tag('0'), ...operations])
    const { detail, ...rest } = expected as { detail?: unknown }
    expect([reply.status, reply.headers['content-type'], reply.json()]).toMatchObject([
      status,
      'application/problem+json; charset=utf-8',
      {
        status,
        index: operations.length,
        ...rest,
        ...(detail !== undefined && { detail: typeof detail === 'string' ? expect.stringContaining(detail) : detail }),
      },
    ])
    expect(world.faults).toEqual([])
  })

  test.each<[string, unknown, RegExp]>([
    ['an object', {}, /^the body must be an array of 1 to 20 operations$/],
    ['null', null, /^the body must be an array of 1 to 20 operations$/],
    ['no operations', [], /^the body must be an array of 1 to 20 operations$/],
    ['too many', Array.from({ length: 21 }, () => tag('x')), /^a batch may have at most 20 operations, this has 21$/],
    ['too many values', [post('project', { name: 'p', extra: Array(20_000).fill(1) })], /more than 20000 values/],
  ])('%s as the body is refused without an index', async (_, body, detail) => {
    const reply = await batch(body === null ? 'null' : body, {
      as: 'bob',
      headers: { 'Content-Type': 'application/json' },
    })
    expect([reply.status, reply.json()]).toEqual([
      400,
      {
        type: 'urn:typeorm-resources:bad-body',
        title: expect.any(String),
        status: 400,
        detail: expect.stringMatching(detail),
      },
    ])
  })

  test('a body that is too large is 413', async () => {
    const reply = await batch([post('project', { name: 'p', extra: 'x'.repeat(1_048_576) })])
    expect([reply.status, Object(reply.json()).index]).toEqual([413, undefined])
  })

  test('a fault is 500, without an index', async () => {
    const reply = await batch([tag('0'), post('task', { title: 'fault' })])
    expect([reply.status, Object(reply.json()).index]).toEqual([500, undefined])
    expect(world.faults).toHaveLength(1)
    ;(world.faults as unknown[]).length = 0
  })

  test('a page of another origin is 403, once for the request', async () => {
    const reply = await batch([tag('x')], { as: 'bob', headers: { Origin: 'https://x.example' } })
    expect([reply.status, reply.json()]).toMatchObject([403, { type: 'urn:typeorm-resources:cross-origin' }])
    expect(Object.keys(Object(reply.json()))).not.toContain('index')
  })

  test.each<[string, SendOptions, unknown]>([
    ['no credentials', {}, post('task', { title: 't' })],
    ['wrong credentials', { headers: { Authorization: 'Basic eDp5' } }, post('task', { title: 't' })],
    ['a read-only resource', { as: 'bob' }, post('notice', {})],
  ])('%s: the 401 is that of a single request, byte for byte', async (_, options, operation) => {
    const { path, body } = operation as { path: string; body: object }
    const single = await send(world.url, `POST ${path}`, { ...options, body })
    const reply = await batch([tag('x'), operation, { ...tag('y'), body: 5 }], options)
    const shown = ({ status, headers: { date, ...headers }, text }: Reply): unknown => [status, headers, text]
    expect(reply.status).toBe(401)
    expect(shown(reply)).toEqual(shown(single))
  })

  test('access rules are checked before any operation runs', async () => {
    const reply = await batch([{ ...tag('x'), body: { nope: 1 } }, post('notice', {})])
    expect(reply.status).toBe(401)
  })
})

test('Batches: the results have status, headers and body of each operation, in order', async () => {
  const results = resultsOf(
    await batch([
      post('project', { name: 'p' }),
      post('task', { title: 't', project_id: { $ref: '0.id' } }),
      post('tag', { code: 'a b,c', label: { $ref: '1.title' }, parent_id: 'first' }),
      { method: 'PUT', path: '/api/tag/first', body: { label: 'Second' } },
      { method: 'PATCH', path: '/api/tag/a%20b,c/?include=parent', body: { label: { $ref: '3.id' } } },
      tag('gone'),
      { method: 'DELETE', path: '/api/tag/gone' },
    ]),
  )
  const first = { id: 'first', code: 'first', label: 'Second', parent_id: null }
  const [project, task] = results.map(({ body }) => body)
  const { id: taskId } = task as { id: number }
  expect(results.map(({ status, body }) => [status, body])).toEqual([
    [201, { id: expect.any(Number), name: 'p', team: 'red', state: 'open', extra: null }],
    [201, { id: expect.any(Number), title: 't', version: 1, owner_id: 2, project_id: project?.['id'] }],
    [201, { id: 'a b,c', code: 'a b,c', label: 't', parent_id: 'first' }],
    [200, first],
    [200, { id: 'a b,c', code: 'a b,c', label: 'first', parent_id: 'first', parent: first }],
    [201, { id: 'gone', code: 'gone', label: 'gone', parent_id: null }],
    [204, null],
  ])
  expect(results.map(({ headers: { ETag, ...headers } }) => [headers, typeof ETag])).toEqual([
    [{ Location: `/api/project/${project?.['id']}/` }, 'string'],
    [{ Location: `/api/task/${taskId}/` }, 'string'],
    [{ Location: '/api/tag/a%20b,c/' }, 'string'],
    [{}, 'string'],
    [{}, 'string'],
    [{ Location: '/api/tag/gone/' }, 'string'],
    [{}, 'undefined'],
  ])
  const read = await send(world.url, `GET /api/task/${taskId}/`, { as: 'bob' })
  expect([read.json(), read.headers.etag]).toEqual([task, results[1]?.headers['ETag']])
  expect(events).toEqual(['t by 2'])
})

test('Batches: the response is private, and the page accepts what other writes accept as a body', async () => {
  const operations = [{ method: 'PUT', path: '/api/tag/first', body: {} }]
  const reply = await batch(operations, {})
  expect([reply.status, reply.headers['cache-control'], reply.headers.vary]).toEqual([
    200,
    'private, no-cache',
    'Authorization',
  ])
  const form = await send(world.url, 'POST /api/-/batch/', {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ data: JSON.stringify(operations) }).toString(),
  })
  expect(form.json()).toEqual(reply.json())
  expect((await send(world.url, 'GET /api/-/batch')).status).toBe(404)
})

test('Batches: preconditions are compared with what earlier operations have written', async () => {
  const [created] = resultsOf(await batch([post('task', { title: 'guarded' })]))
  const path = created?.headers['Location'] ?? ''
  const etag = created?.headers['ETag'] ?? ''
  const put = (title: string, headers: object) => ({ method: 'PUT', path, body: { title }, headers })
  const before = await stored()
  const stale = await batch([put('one', { 'If-Match': etag }), put('two', { 'if-match': etag })])
  expect([stale.status, stale.json()]).toMatchObject([
    412,
    { type: 'urn:typeorm-resources:precondition-failed', index: 1 },
  ])
  const any = await batch([put('one', { 'If-Match': '*' }), put('two', { 'IF-NONE-MATCH': '*' })])
  expect([any.status, any.json()]).toMatchObject([412, { index: 1 }])
  expect(await stored()).toEqual(before)
  const [changed] = resultsOf(await batch([put('one', { 'If-Match': etag }), put('two', {})]))
  expect(changed?.body).toMatchObject({ title: 'one', version: 2 })
  // The ETag of the batch itself is no precondition of its operations.
  const headers = { 'If-Match': '"other"', 'If-None-Match': '*' }
  expect((await batch([put('three', {})], { as: 'bob', headers })).status).toBe(200)
})

test('Batches: operations may write several records', async () => {
  const reply = await batch([
    tag('top'),
    post('tag', [
      { code: 'one', label: 'one', parent_id: { $ref: '0.id' } },
      { code: 'two', label: 'two' },
    ]),
    { method: 'PATCH', path: '/api/tag/?code__in=one,two', body: { parent_id: { $ref: '1.objects.1.id' } } },
    { method: 'DELETE', path: '/api/tag?parent=two&label=one' },
    { method: 'PUT', path: '/api/tag/two/', body: { parent_id: null } },
    { method: 'DELETE', path: '/api/tag/?code__in=two,top' },
  ])
  expect(resultsOf(reply).map(({ status, headers, body }) => [status, headers, body?.['meta']])).toEqual([
    [201, { Location: '/api/tag/top/', ETag: expect.any(String) }, undefined],
    [201, {}, { model: 'tag', created: 2 }],
    [200, {}, { model: 'tag', updated: 2 }],
    [200, {}, { model: 'tag', deleted: 1 }],
    [200, { ETag: expect.any(String) }, undefined],
    [200, {}, { model: 'tag', deleted: 2 }],
  ])
})

test('Batches: an object with more members than $ref is no reference', async () => {
  const extra = { $ref: '#/defs/x', type: 'string', list: [{ $ref: 'a', b: 1 }, {}] }
  const [created] = resultsOf(await batch([post('project', { name: 'schema', extra })]))
  expect(created?.body).toMatchObject({ extra })
  await world.sql('DELETE FROM "project" WHERE "name" = \'schema\'')
})

test('Batches: __proto__ in a body is a member like others', async () => {
  const text = `[${JSON.stringify(tag('0'))},{"method":"POST","path":"/api/project/","body":{"name":"proto","extra":{"__proto__":{"$ref":"0.id"}}}}]`
  const reply = await batch(text, { as: 'bob', headers: { 'Content-Type': 'application/json' } })
  expect(reply.text).toContain('"extra":{"__proto__":"0"}')
  expect(Object.keys(Object.prototype)).toEqual([])
  await world.sql('DELETE FROM "project" WHERE "name" = \'proto\'')
  await world.sql('DELETE FROM "tag" WHERE "code" = \'0\'')
})

test('Batches: credentials are verified once for all operations', async () => {
  world.statements()
  await batch(Array.from({ length: 5 }, (_, index) => post('task', { title: `n${index}` })))
  const logins = world.statements().filter((sql) => /^\s*SELECT .*FROM .*\bmember\b.*username/s.test(sql))
  expect(logins).toHaveLength(1)
  expect(events).toEqual([0, 1, 2, 3, 4].map((index) => `n${index} by 2`))
})

test('Batches: references may insert as many characters as a body may have', async () => {
  const reference = { $ref: '0.extra.text' }
  const reply = await batch([
    post('project', { name: 'long', extra: { text: 'x'.repeat(30_000) } }),
    post('project', { name: 'two', extra: [reference, reference] }),
    post('project', { name: 'three', extra: Array(40).fill(reference) }),
  ])
  expect([reply.status, reply.json()]).toMatchObject([413, { index: 2 }])
  expect(await world.sql('SELECT "name" FROM "project" WHERE "name" IN (\'long\', \'two\')')).toEqual([])
})

test('Batches: without the option there is no such page', async () => {
  const other = await openWorld()
  expect((await send(other.url, 'POST /api/-/batch', { as: 'bob', body: [] })).status).toBe(404)
  await other.close()
})

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: object } }
}
interface Description {
  readonly paths: {
    readonly '/-/batch'?: {
      readonly post: { readonly requestBody: Content; readonly responses: { readonly '200': Content } }
    }
  }
  readonly components: { readonly schemas: { readonly Problem: object } }
}

test('Batches: the OpenAPI document describes the page', async () => {
  const { paths, components } = (await send(world.url, 'GET /api/openapi.json')).json() as Description
  const ajv = new Ajv2020({ strict: false })
  const schemaOf = (content: Content | undefined): object => content?.content['application/json'].schema ?? {}
  const operations = [tag('described'), { method: 'DELETE', path: '/api/tag/described/', headers: { 'If-Match': '*' } }]
  const reply = await batch(operations)
  const { requestBody, responses } = paths['/-/batch']?.post ?? {}
  expect(schemaOf(requestBody)).toMatchObject({ minItems: 1, maxItems: 20 })
  for (const [schema, valid, invalid] of [
    [schemaOf(requestBody), operations, [{ ...tag('x'), method: 'GET' }]],
    [schemaOf(responses?.['200']), reply.json(), { results: [{ status: 200 }] }],
    [components.schemas.Problem, (await batch([{ ...tag('x'), path: '' }])).json(), { index: -1 }],
  ] as const) {
    const validate = ajv.compile(schema)
    expect([validate(valid), validate.errors, validate(invalid)]).toEqual([true, null, false])
  }
})
