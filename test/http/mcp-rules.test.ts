import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import bodyParser from 'koa-bodyparser'
import { BeforeInsert, Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, mountResources, problem, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { callTool, connectAgent } from '../support/agent'
import { longText } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** Agents: rules and a body parser of the application, and columns that are hard to represent. */

/** The requests for which access rules were called. */
const asked: string[] = []

/** Users whom middleware of the application has logged in. */
const session: Rule = ({ context, method }) => {
  asked.push(`${method} ${context.method} ${context.path} ${context.originalUrl}`)
  return context.state['user'] ?? null
}
const throwing =
  (error: () => Error): Rule =>
  ({ method }) => {
    if (method === 'GET') return { id: null }
    throw error()
  }

@Entity()
@Resource({ paging: 'keyset', formats: true })
class Notice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'bigint', default: '9007199254740993' }) size!: string
  @Column({ length: 20, default: 'text' }) format!: string
}

@Entity()
@Resource({ auth: session, exclude: ['code'], description: 'What is to be done.' })
class Job {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) code!: string | null

  @BeforeInsert()
  check(): void {
    if (this.title === 'fault') throw new Error('secret of the server')
    if (this.title === 'problem') throw problem(409, 'the office is closed', { field: 'title' })
  }
}

/** Has large records. */
@Entity()
@Resource({ auth: session })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) text!: string
  @Column({ default: 0 }) pages!: number
}

/** Can be sent, but not read. */
@Entity()
@Resource({ auth: ({ method }) => (method === 'POST' ? { id: null } : null) })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

@Entity()
@Resource({ auth: ({ context, reads }) => (reads ? { id: null } : context.throw(403, 'closed today')) })
class Shop {
  @PrimaryColumn({ length: 20 }) city!: string
  @PrimaryColumn({ length: 20 }) street!: string
}

@Entity()
@Resource({ auth: throwing(() => problem(423, 'locked by the office')) })
class Lock {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: throwing(() => new Error('secret of the rule')), bulk: true })
class Trap {
  @PrimaryGeneratedColumn() id!: number
}

let world: World
let anonymous: Client
let user: Client

beforeAll(async () => {
  world = await openWorld({
    entities: [Notice, Job, Paper, Report, Shop, Lock, IdempotencyKey],
    before: (app) => {
      app.use(bodyParser())
      app.use((context, next) => {
        if (context.get('X-User') !== '') context.state['user'] = { id: Number(context.get('X-User')) }
        return next()
      })
    },
    seed: async (dataSource) => {
      await dataSource.getRepository(Notice).insert(Array.from({ length: 25 }, () => ({})))
      await dataSource.getRepository(Shop).insert({ city: 'Rome, Italy', street: 'a/b?c' })
    },
    mountOn: (app, dataSource) =>
      mountResources(app, dataSource, { mcp: true, limit: { default: 25, max: 25 }, info: { title: 'Office' } }),
  })
  anonymous = await connectAgent(world.url)
  user = await connectAgent(world.url, { 'X-User': '7' })
})
afterAll(async () => {
  await anonymous.close()
  await user.close()
  await world.close()
})

const toolsFor = async (client: Client): Promise<string> => {
  const { text } = await callTool(client, 'describe')
  const { user: id, resources } = JSON.parse(text) as { user: unknown; resources: { name: string; tools: string[] }[] }
  return [id, ...resources.map(({ name, tools }) => `${name}: ${tools.join(' ')}`)].join('; ')
}

test('the arguments of a call, except values, may have 16,384 characters together', async () => {
  const long = ','.repeat(16_384)
  const calls: readonly [string, Record<string, unknown>][] = [
    ['get', { id: long }],
    ['list', { filters: { id__in: long } }],
    ['list', { filters: { [long]: 1 } }],
    ['delete', { id: 1, if_match: long }],
  ]
  for (const [name, args] of calls) {
    const { isError, text } = await callTool(anonymous, name, { resource: 'notice', ...args })
    expect([isError, text]).toEqual([true, 'the arguments besides "values" may have at most 16384 characters together'])
  }
})

test('an anonymous client finds what the access rules permit everybody', async () => {
  expect(anonymous.getServerVersion()).toMatchObject({ name: 'Office' })
  expect(await toolsFor(anonymous)).toBe('; notice: list get; report: create; shop: list get; lock: list get')
  const { tools } = await anonymous.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['describe', 'list', 'get', 'create'])
})

test('a user of the application finds what the access rules permit this user', async () => {
  expect(await toolsFor(user)).toContain('7; notice: list get; job: list get create update delete')
  expect((await callTool(user, 'describe')).text).toContain('What is to be done.')
})

test('access rules find the method and path of the call', async () => {
  asked.length = 0
  await callTool(user, 'update', { resource: 'job', id: 'a b', values: {} })
  await callTool(user, 'list', { resource: 'job', filters: { title: 'x y' } })
  expect(asked).toEqual([
    'PATCH PATCH /api/job/a%20b/ /api/job/a%20b/',
    'GET GET /api/job/ /api/job/?title=x%20y&limit=20',
  ])
})

test('an anonymous call that the access rule refuses is 401, so that the client logs in', async () => {
  await expect(callTool(anonymous, 'list', { resource: 'job' })).rejects.toThrow('Authentication failed')
  const params = { name: 'create', arguments: { resource: 'notice', values: {} } }
  const headers = { Accept: 'application/json, text/event-stream' }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const reply = await send(world.url, 'POST /api/-/mcp', { headers, body })
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Basic/)])
})

test('the result of a list is JSON whatever formats the client accepts', async () => {
  const headers = { Accept: 'text/csv, application/json, text/event-stream' }
  const params = { name: 'list', arguments: { resource: 'notice', limit: 1 } }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const { text } = await send(world.url, 'POST /api/-/mcp', { headers, body })
  expect(JSON.parse(JSON.parse(text).result.content[0].text).objects).toHaveLength(1)
})

test('a resource is described once for clients with the same permissions', async () => {
  const describe = async (client: Client, resource: string): Promise<string> =>
    (await callTool(client, 'describe', { resource })).text
  const first = await describe(user, 'notice')
  const column = world.dataSource.getMetadata(Notice).findColumnWithPropertyName('size')
  if (column === undefined) throw new Error('there is no column size')
  const readComment = jest.fn(() => undefined)
  Object.defineProperty(column, 'comment', { configurable: true, get: readComment })
  expect(await describe(user, 'notice')).toBe(first)
  expect(readComment).not.toHaveBeenCalled()
  // Anonymous clients may use other resources.
  expect(await describe(anonymous, 'notice')).toBe(first)
  expect(readComment).toHaveBeenCalled()
  Object.defineProperty(column, 'comment', { value: undefined, writable: true })
})

test('a resource that can only be written is described by what a body may have', async () => {
  const { text } = await callTool(anonymous, 'describe', { resource: 'report' })
  expect(JSON.parse(text)).toEqual({
    name: 'report',
    tools: ['create'],
    fields: { text: { type: 'string', maxLength: 20, description: expect.any(String), create: 'required' } },
  })
})

test('a hidden field that can be written is described, but not shown', async () => {
  const { text } = await callTool(user, 'describe', { resource: 'job' })
  expect(JSON.parse(text)).toMatchObject({ fields: { code: { writeOnly: true, create: 'optional' } } })
  const created = await callTool(user, 'create', { resource: 'job', values: { title: 'Draw', code: 'x1' } })
  expect(created.isError).toBe(false)
  expect(JSON.parse(created.text).record).toEqual({ id: expect.any(Number), title: 'Draw' })
})

test('a list has 20 records without a limit, and numbers keep all of their digits', async () => {
  const { text } = await callTool(anonymous, 'list', { resource: 'notice' })
  const { meta, objects } = JSON.parse(text) as { meta: { next: string }; objects: object[] }
  expect(objects).toHaveLength(20)
  expect(text).toContain('9007199254740993')
  const after = new URLSearchParams(meta.next.split('?')[1]).get('after')
  const rest = JSON.parse((await callTool(anonymous, 'list', { resource: 'notice', after })).text)
  expect(rest.objects).toHaveLength(5)
})

test('a tool shows records of up to 1 MiB, and the record of a write whatever its size', async () => {
  const values = { text: 'x'.repeat(400_000) }
  for (const _ of [1, 2, 3]) await callTool(user, 'create', { resource: 'paper', values })
  const page = JSON.parse((await callTool(user, 'list', { resource: 'paper' })).text)
  expect(page.objects.map(({ id }: { id: number }) => id)).toEqual([1, 2])
  const after = new URLSearchParams(page.meta.next.split('?')[1]).get('after')
  const next = JSON.parse((await callTool(user, 'list', { resource: 'paper', after })).text)
  expect([next.objects.length, next.meta.next]).toEqual([1, ''])

  await world.sql(`UPDATE "paper" SET "text" = '${'y'.repeat(1_100_000)}' WHERE "id" = 1`)
  const record = { resource: 'paper', id: 1 }
  const updated = await callTool(user, 'update', { ...record, values: { pages: 9 } })
  expect(JSON.parse(updated.text).record).toMatchObject({ id: 1, pages: 9 })
  const refused = {
    isError: true,
    text: expect.stringMatching(
      /^the paper with id 1 has \d+ bytes; a record in a response may have at most 1048576; select fewer fields, or leave it out of a list with id__ne=1$/,
    ),
  }
  expect(await callTool(user, 'get', record)).toEqual(refused)
  expect(await callTool(user, 'list', { resource: 'paper' })).toEqual(refused)
  const short = await callTool(user, 'list', { resource: 'paper', fields: 'id,pages' })
  expect(JSON.parse(short.text).objects).toHaveLength(3)
})

test('a filter on a field with the name of a parameter needs an operator', async () => {
  const { text } = await callTool(anonymous, 'list', { resource: 'notice', filters: { format__eq: 'text' }, limit: 1 })
  expect(JSON.parse(text).objects).toHaveLength(1)
})

test('keys of several columns have commas between their parts', async () => {
  const { objects } = JSON.parse((await callTool(anonymous, 'list', { resource: 'shop' })).text)
  const { text } = await callTool(anonymous, 'get', { resource: 'shop', id: objects[0].id })
  expect(JSON.parse(text).record).toEqual(objects[0])
})

test('a repeated call with an idempotency key is carried out once', async () => {
  const { tools } = await user.listTools()
  const create = tools.find(({ name }) => name === 'create')
  expect(Object.keys(create?.inputSchema.properties ?? {})).toContain('idempotency_key')
  const args = { resource: 'job', values: { title: 'Once' }, idempotency_key: 'k1' }
  expect(await callTool(user, 'create', args)).toEqual(await callTool(user, 'create', args))
  expect(await world.sql(`SELECT "id" FROM "job" WHERE "title" = 'Once'`)).toHaveLength(1)
})

test.each([
  ['a fault', 'job', { title: 'fault' }, 'the server could not answer this request'],
  ['a problem of a listener', 'job', { title: 'problem' }, 'the office is closed'],
  ['context.throw in an access rule', 'shop', {}, 'closed today'],
  ['a problem of an access rule', 'lock', {}, 'locked by the office'],
])('%s is a refused call', async (_, resource, values, expected) => {
  const before = world.faults.length
  expect(await callTool(user, 'create', { resource, values })).toEqual({ isError: true, text: expected })
  expect(world.faults.length - before).toBe(expected.startsWith('the server') ? 1 : 0)
})

test('a fault of an access rule is a 500 without its message', async () => {
  const other = await openWorld({ entities: [Trap], mount: { mcp: true } })
  try {
    const headers = { Accept: 'application/json, text/event-stream' }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const { status, text } = await send(other.url, 'POST /api/-/mcp', { headers, body })
    expect(status).toBe(500)
    expect(text).not.toContain('secret of the rule')
    expect(other.faults).toEqual([new Error('secret of the rule')])
  } finally {
    await other.close()
  }
})

const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]))

async function sendMessage(method: string, params: unknown): Promise<readonly [status: number, text: string]> {
  const headers = { Accept: 'application/json, text/event-stream' }
  const { status, text } = await send(world.url, 'POST /api/-/mcp', {
    headers,
    body: { jsonrpc: '2.0', id: 1, method, params },
  })
  return [status, text]
}

const hello = { protocolVersion: '2025-03-26', clientInfo: { name: 'agent', version: '1' } }

test.each<[string, string, (values: number) => unknown, number]>([
  ['arguments', 'tools/call', (count) => ({ name: 'list', arguments: many(count) }), 4096],
  ['filters', 'tools/call', (count) => ({ name: 'list', arguments: { filters: many(count) } }), 4096],
  ['members of the parameters', 'tools/call', (count) => ({ name: 'describe', ...many(count) }), 198],
  ['values in the metadata', 'tools/call', (count) => ({ name: 'describe', _meta: many(count) }), 197],
  ['values in the capabilities', 'initialize', (count) => ({ ...hello, capabilities: { a: many(count) } }), 191],
])('a message with too many %s is refused before the SDK checks them', async (_, method, paramsOf, max) => {
  expect(await sendMessage(method, paramsOf(max + 10))).toEqual([400, expect.stringContaining('"code":-32700')])
  expect((await sendMessage(method, paramsOf(max - 10)))[0]).toBe(200)
})

test('a long text as the arguments of a call takes no longer than one as an argument', async () => {
  const text = 'a'.repeat(1_000_000)
  const fastest = { whole: Number.POSITIVE_INFINITY, argument: Number.POSITIVE_INFINITY }
  for (let round = 0; round < 3; round++) {
    for (const kind of ['whole', 'argument'] as const) {
      const start = performance.now()
      const given = kind === 'whole' ? text : { resource: text }
      const [, received] = await sendMessage('tools/call', { name: 'describe', arguments: given })
      expect(received).toMatch(/"error"|"isError":true/)
      fastest[kind] = Math.min(fastest[kind], performance.now() - start)
    }
  }
  // Before, the one as the arguments took more than ten times as long.
  expect(fastest.whole).toBeLessThan(3 * fastest.argument)
})
