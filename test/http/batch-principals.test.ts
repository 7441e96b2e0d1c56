import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import Koa from 'koa'
import mount from 'koa-mount'
import {
  Column,
  type DataSource,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import {
  type AccessRequest,
  ApiKeys,
  apiKeys,
  basic,
  createApiKey,
  type MountOptions,
  mountResources,
  type Principal,
  Resource,
  type Rule,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { type Reply, type SendOptions, send } from '../client'
import { permitAll } from '../support/access'
import { unhashed } from '../support/unhashed'
import { worldPerTest } from '../support/world-per-test'
import { isPostgres } from '../world/leg'
import type { World } from '../world/world'

/** Access rules, principals and settings of the operations of a batch. */

/** The argument of each call of the rule, and what Koa's context says. */
const calls: (readonly unknown[])[] = []
let database: DataSource

/** The user whom the header `X-User` names. The rule runs a statement on a connection of its own. */
const userOfHeader: Rule = async ({ method, reads, context }: AccessRequest) => {
  await database.query('SELECT 1')
  const { path, url, originalUrl, query, request, req } = context
  calls.push([method, reads, context.method, request.method, req.method, path, url, originalUrl, { ...query }])
  const id = context.get('x-user')
  return id === '' ? null : { id: Number(id) }
}

/** Guarded: a foreign key to it calls its access rule. */
@Entity()
@Resource({ auth: userOfHeader, scope: ({ id }) => ({ owner: Number(id) }) })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 7 }) owner!: number
}

@Entity()
@Resource({ auth: userOfHeader })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Folder) folder!: Relation<Folder> | null
}

@Entity()
@Resource({ auth: permitAll })
class Feedback {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

/** Inserted records, each with the principal and the settings of the database that a listener finds. */
const seen: unknown[] = []

@EventSubscriber()
class Recorder implements EntitySubscriberInterface<{ text: string }> {
  async afterInsert({ metadata, manager, queryRunner }: InsertEvent<{ text: string }>): Promise<void> {
    if (metadata.name === 'Folder') return
    const { id } = queryRunner.data['principal'] as Principal
    const sql = `SELECT current_setting('app.user', true) AS "user", current_setting('app.kind', true) AS "kind"`
    const settings = isPostgres ? await manager.query(sql) : []
    seen.push([metadata.name, id, ...settings.flatMap(({ user, kind }: Record<string, string>) => [user, kind])])
  }

  beforeTransactionCommit({ queryRunner }: { queryRunner: InsertEvent<unknown>['queryRunner'] }): void {
    if ('principal' in queryRunner.data) seen.push(['commit', queryRunner.data['principal'].id])
  }
}

const settings: MountOptions = {
  databaseSettings: ({ id }): Record<string, string> =>
    id === null ? { 'app.kind': 'anonymous' } : { 'app.user': String(id), 'app.kind': 'user' },
}

const openForTest = worldPerTest()
const open = async (options: MountOptions = {}, prefix = ''): Promise<World> => {
  const world = await openForTest({
    entities: [Folder, Note, Feedback],
    seed: async (dataSource) => {
      database = dataSource
      await dataSource.manager.insert(Folder, [{ owner: 7 }, { owner: 8 }])
    },
    // One connection: a rule that is called within the transaction would wait for the end of it.
    source: { subscribers: [Recorder], ...(isPostgres && { poolSize: 1 }) } as object,
    mount: { waitLimit: 2000 },
    mountOn: (app, dataSource) => {
      const inner = new Koa()
      const mounted = mountResources(inner, dataSource, { batch: true, waitLimit: 2000, ...options })
      app.use(prefix === '' ? (inner.middleware[0] as Koa.Middleware) : mount(prefix, inner))
      return mounted
    },
  })
  calls.length = 0
  seen.length = 0
  return world
}

const batch = ({ url }: World, operations: unknown, options: SendOptions = {}, prefix = ''): Promise<Reply> =>
  send(url, `POST ${prefix}/api/-/batch`, { body: operations, ...options })
const as = (user: number): SendOptions => ({ headers: { 'X-User': String(user) } })
const post = (name: string, body: object) => ({ method: 'POST', path: `/api/${name}/`, body })

test.each(['', '/site'])(
  'Batches: an access rule sees the method and the path of its operation, and may run statements, below %j',
  async (prefix) => {
    const world = await open({}, prefix)
    const operations = [
      { method: 'POST', path: `${prefix}/api/note/?include=folder`, body: { text: 'a', folder_id: 1 } },
      { method: 'PATCH', path: `${prefix}/api/note/1?include=folder`, body: {} },
      { method: 'DELETE', path: `${prefix}/api/note/1/`, body: {} },
    ]
    const reply = await batch(world, operations, as(7), prefix)
    expect([reply.status, reply.json()]).toMatchObject([
      200,
      {
        results: [
          // The record has been deleted when the included records are read.
          { status: 201, headers: { Location: `${prefix}/api/note/1/` }, body: { id: 1, text: 'a', folder_id: 1 } },
          { status: 200 },
          { status: 204 },
        ],
      },
    ])
    const call = (method: string, rest: string, query: object) => {
      const url = `/api/note/${rest}`
      return [method, false, method, method, method, url.replace(/\?.*/, ''), url, `${prefix}${url}`, query]
    }
    // The rule of folder is called as for a GET.
    expect(calls.filter(([method]) => method !== 'GET')).toEqual([
      call('POST', '?include=folder', { include: 'folder' }),
      call('PATCH', '1?include=folder', { include: 'folder' }),
      call('DELETE', '1/', {}),
    ])
    const [operation] = operations
    const path = prefix === '' ? '/site/api/note/' : '/api/note/'
    const outside = await batch(world, [{ ...operation, path }], as(7), prefix)
    expect([outside.status, outside.json()]).toMatchObject([400, { index: 0 }])
  },
)

test('Batches: records are those that each operation has written, and included records are those after the batch', async () => {
  const world = await open()
  const reply = await batch(
    world,
    [
      { method: 'POST', path: '/api/note/?include=folder', body: { text: 'a', folder_id: 1 } },
      post('folder', {}),
      { method: 'PUT', path: '/api/note/1/?include=folder(fields:(id))', body: { folder_id: { $ref: '1.id' } } },
    ],
    as(7),
  )
  const { results } = reply.json() as { results: { body: object }[] }
  // The folder of the note is another one at the end of the batch.
  expect(results[0]?.body).not.toHaveProperty('folder')
  expect({ results }).toMatchObject({
    results: [
      { body: { id: 1, folder_id: 1 } },
      { body: { id: 3, owner: 7 } },
      { body: { id: 1, folder_id: 3, folder: { id: 3 } } },
    ],
  })
})

test('Batches: listeners find the principal and the settings of the database of each operation', async () => {
  const world = await open(isPostgres ? settings : {})
  const operations = [
    post('feedback', { text: 'one' }),
    post('note', { text: 'two' }),
    post('feedback', { text: 'three' }),
    post('note', { text: 'four' }),
  ]
  const reply = await batch(world, operations, as(7))
  expect(reply.status).toBe(200)
  const [anonymousSettings, userSettings] = isPostgres
    ? [
        ['', 'anonymous'],
        ['7', 'user'],
      ]
    : [[], []]
  expect(seen).toEqual([
    // No transaction of this connection has set it yet.
    ['Feedback', null, ...(isPostgres ? [null, 'anonymous'] : [])],
    ['Note', 7, ...userSettings],
    ['Feedback', null, ...anonymousSettings],
    ['Note', 7, ...userSettings],
    ['commit', null],
  ])
  seen.length = 0
  await batch(world, operations.slice(1, 2), as(8))
  expect(seen).toEqual([
    ['Note', 8, ...(isPostgres ? ['8', 'user'] : [])],
    ['commit', 8],
  ])
})

test('Batches: events of the diagnostics channels name the resources of the operations', async () => {
  const world = await open()
  const published: (readonly [channel: string, event: Readonly<Record<string, unknown>>])[] = []
  const channels = ['request', 'statement', 'refusal'].map((name) => `typeorm-resources:${name}`)
  const add = (event: unknown, channel: string | symbol): void => {
    const { milliseconds, statements, rows, reason, failed, ...rest } = event as Record<string, unknown>
    published.push([String(channel).slice('typeorm-resources:'.length), rest])
  }
  for (const channel of channels) subscribe(channel, add)
  const body = { text: 'one' }
  await batch(world, [post('feedback', body), post('note', body)], as(7))
  const accepted = published.splice(0)
  await batch(world, [post('feedback', body), post('note', {})], as(7))
  await batch(world, [post('note', body)])
  for (const channel of channels) unsubscribe(channel, add)
  expect(accepted.filter(([name]) => name === 'request')).toEqual([
    ['request', { resource: 'feedback', method: 'POST', status: 201 }],
    ['request', { resource: 'note', method: 'POST', status: 201 }],
  ])
  const statements = accepted.filter(([name]) => name === 'statement').map(([, event]) => event['resource'])
  expect([statements[0], statements.at(-1)]).toEqual(['feedback', 'note'])
  expect(published.filter(([name]) => name !== 'statement')).toEqual([
    ['refusal', { resource: '-/batch', method: 'POST', code: 'bad-values', status: 400 }],
    ['refusal', { resource: '-/batch', method: 'POST', code: 'unauthorized', status: 401 }],
  ])
})

@Entity()
@UserAccount(unhashed)
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

@Entity()
@Resource({ ownerField: 'user' })
@ApiKeys()
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 20 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Member, { nullable: false }) user!: Relation<Member>
  @Column({ type: 'simple-json', nullable: true }) permissions!: Record<string, string[]> | null
}

@Entity()
@Resource({ auth: userRule() })
class Topic {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

test('Batches: an API key permits the actions of operations as those of requests, and no cache may store a new one', async () => {
  const world = await openForTest({
    entities: [Member, Token, Topic],
    seed: async ({ manager }) => {
      await manager.insert(Member, { username: 'ann', password: 'ann' })
      await manager.insert(Topic, { name: 'first' })
    },
    mount: { batch: true, authenticators: [basic(), apiKeys()] },
  })
  const key = await createApiKey(world.dataSource, Token, { user: { id: 1 }, permissions: { topic: ['create'] } })
  const withKey = { headers: { Authorization: `ApiKey ${key}` } }
  const create = post('topic', { name: 'second' })
  const change = { method: 'PUT', path: '/api/topic/1/', body: { name: 'changed' } }
  expect((await batch(world, [create, create], withKey)).status).toBe(200)
  const single = await send(world.url, 'PUT /api/topic/1/', { ...withKey, body: { name: 'changed' } })
  const refused = await batch(world, [create, change], withKey)
  expect([refused.status, refused.text]).toEqual([401, single.text])
  expect(await world.sql('SELECT "name" FROM "topic" ORDER BY "id"')).toEqual(
    ['first', 'second', 'second'].map((name) => ({ name })),
  )
  const created = await batch(world, [post('token', {}), change], { as: 'ann' })
  expect([created.status, created.headers['cache-control']]).toEqual([200, 'no-store'])
  const [{ body }] = (created.json() as { results: [{ body: { key: string } }] }).results
  const login = await send(world.url, 'GET /api/topic/', { headers: { Authorization: `ApiKey ${body.key}` } })
  expect(login.status).toBe(200)
})
