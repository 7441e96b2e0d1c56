import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { mountResources } from 'typeorm-resources'
import { signToken } from '../../sample/tracker/login'
import { trackerOptions } from '../../sample/tracker/options'
import { people, seedTracker, trackerEntities } from '../../sample/tracker/seed'
import { channels, type RequestEvent } from '../../src/diagnostics'
import { type Reply, type SendOptions, send } from '../client'
import { callTool, connectAgent, type ToolReply } from '../support/agent'
import { openWorld, type World } from '../world/world'

/** Agents: the Model Context Protocol on the tracker of the sample, with the client of the protocol's SDK. */

type Args = Readonly<Record<string, unknown>>

let world: World
/** Values of `Authorization`: of the people, and the API key of bob, which can read projects, and read and create entries. */
const credentials = new Map<string, string>()
const clients = new Map<string, Client>()
const everybody = [...people, 'program'] as const

beforeAll(async () => {
  world = await openWorld({
    entities: trackerEntities,
    seed: async (dataSource) => void credentials.set('program', `ApiKey ${await seedTracker(dataSource)}`),
    mountOn: (app, dataSource) =>
      mountResources(app, dataSource, { ...trackerOptions, mcp: true, limits: { body: 2000 } }),
  })
  for (const [index, name] of people.entries()) credentials.set(name, `Bearer ${await signToken(index + 1)}`)
})
afterAll(async () => {
  for (const client of clients.values()) await client.close()
  await world.close()
})

const headersOf = (who: string) => ({ Authorization: credentials.get(who) ?? '' })

async function clientOf(who: string): Promise<Client> {
  const client = clients.get(who) ?? (await connectAgent(world.url, headersOf(who)))
  clients.set(who, client)
  return client
}

const call = async (who: string, name: string, args?: Args): Promise<ToolReply> =>
  callTool(await clientOf(who), name, args)

async function resultOf(who: string, name: string, args?: Args): Promise<unknown> {
  const { isError, text } = await call(who, name, args)
  if (isError) throw new Error(text)
  return JSON.parse(text)
}

test('an agent finds the open tasks of its user and completes the first one in three calls', async () => {
  const { user } = (await resultOf('bob', 'describe')) as { user: number }
  const filters = { assignee: user, state__ne: 'done' }
  const { objects } = (await resultOf('bob', 'list', { resource: 'task', filters })) as { objects: { id: number }[] }
  const values = { state: 'done' }
  const completed = await resultOf('bob', 'update', { resource: 'task', id: objects[0]?.id, values })
  expect(completed).toMatchObject({ record: { id: 1, title: 'Draw', state: 'done' } })
  expect(await world.sql('SELECT "state" FROM "task" WHERE "id" = 1')).toEqual([{ state: 'done' }])
})

test.each([
  ['ann', 'describe list get aggregate create update delete'],
  ['program', 'describe list get aggregate create'],
])('%s finds only the tools that it can call for a resource', async (who, expected) => {
  const { tools } = await (await clientOf(who)).listTools()
  expect(tools.map(({ name }) => name).join(' ')).toBe(expected)
  const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint === false).map(({ name }) => name)
  expect(writing).toEqual(['create', 'update', 'delete'].filter((name) => expected.includes(name)))
  expect(tools.every(({ inputSchema }) => inputSchema['additionalProperties'] === false)).toBe(true)
})

test('describe shows which tools can be called for each resource', async () => {
  const { resources } = (await resultOf('program', 'describe')) as { resources: unknown }
  expect(resources).toEqual([
    { name: 'project', tools: ['list', 'get'] },
    { name: 'entry', tools: ['list', 'get', 'aggregate', 'create'] },
  ])
})

test('describe shows fields, filters and relations of a resource', async () => {
  expect(await resultOf('bob', 'describe', { resource: 'task' })).toEqual({
    name: 'task',
    tools: ['list', 'get', 'create', 'update', 'delete'],
    fields: {
      id: { type: 'integer', operators: 'eq,ne,lt,lte,gt,gte,in,is' },
      title: {
        type: 'string',
        maxLength: 40,
        operators: 'eq,ne,lt,lte,gt,gte,in,is,like,ilike',
        create: 'required',
        update: 'optional',
      },
      state: expect.objectContaining({ enum: ['open', 'doing', 'done'], create: 'optional' }),
      project_id: expect.objectContaining({ type: 'integer', resource: 'project', create: 'required' }),
      assignee_id: expect.objectContaining({ type: ['integer', 'null'], resource: 'person', create: 'optional' }),
    },
    relations: expect.objectContaining({
      project: { resource: 'project', many: false, filter: 'project__<field>', include: true },
      comments: { resource: 'comment', many: true, filter: 'comments__<field>', include: true },
    }),
    search: ['title', 'project__name'],
    limit: 1000,
  })
  expect(await resultOf('bob', 'describe', { resource: 'entry' })).toMatchObject({
    fields: {
      day: { format: 'date', description: expect.any(String) },
      person_id: { resource: 'person' },
    },
    aggregate: expect.arrayContaining(['count', 'minutes__sum|avg|min|max|count_distinct']),
    by: expect.arrayContaining(['task', 'day__month']),
  })
  expect(await resultOf('ann', 'describe', { resource: 'invoice' })).toMatchObject({
    fields: { lines: { type: 'array', resource: 'line', create: 'optional' } },
  })
})

test('describe shows only what its user may see', async () => {
  // Ann is a manager wherever she sees projects, bob is not.
  expect((await call('ann', 'describe', { resource: 'project' })).text).toContain('budget')
  expect((await call('bob', 'describe', { resource: 'project' })).text).not.toContain('budget')
  expect((await call('ann', 'describe', { resource: 'task' })).text).not.toContain('deleted')
  expect((await call('program', 'describe', { resource: 'entry' })).text).not.toContain('"task":{')
})

test.each(['ann', 'dan', 'program'])('tools show %s no hidden field of any resource', async (who) => {
  const { resources } = (await resultOf(who, 'describe')) as { resources: { name: string }[] }
  const texts = await Promise.all(
    resources.flatMap(({ name: resource }) => [
      call(who, 'describe', { resource }),
      call(who, 'list', { resource, filters: { id__is: 'not_null' } }),
    ]),
  )
  const found = texts.flatMap(({ text }) => /argon2|managesAll|lastUsed|"deleted"|"hash"/.exec(text)?.[0] ?? [])
  expect(found).toEqual([])
  expect(texts.some(({ isError }) => isError)).toBe(false)
})

const manyFilters = Array.from({ length: 51 }, (_, index) => [`a${index}`, index] as const)

/** Calls, each with the HTTP request that it is. They change nothing that others read. */
const twins: readonly (readonly [tool: string, args: Args, line: string, body?: unknown])[] = [
  ['list', { resource: 'task' }, 'GET task/?limit=20'],
  ['list', { resource: 'task', filters: { state: 'open', id__in: '1,4' } }, 'GET task/?state=open&id__in=1,4&limit=20'],
  ['list', { resource: 'task', filters: { nope: 1 } }, 'GET task/?nope=1&limit=20'],
  ['list', { resource: 'task', filters: { titel: 'x' }, limit: 5000 }, 'GET task/?titel=x&limit=5000'],
  [
    'list',
    { resource: 'task', search: 'draw', ordering: '-id', limit: 1 },
    'GET task/?search=draw&ordering=-id&limit=1',
  ],
  [
    'list',
    { resource: 'task', include: 'comments', count: 'exact' },
    'GET task/?include=comments&count=exact&limit=20',
  ],
  [
    'list',
    { resource: 'task', filters: { or: '(id:1,id:4)' }, fields: 'title' },
    'GET task/?or=(id:1,id:4)&fields=title&limit=20',
  ],
  [
    'list',
    { resource: 'task', filters: { title: 'A&b=c é+%\ud83d\ude00' } },
    'GET task/?title=A%26b%3Dc%20%C3%A9%2B%25%F0%9F%98%80&limit=20',
  ],
  ['list', { resource: 'project', filters: { budget__gt: 1 } }, 'GET project/?budget__gt=1&limit=20'],
  ['list', { resource: 'project', fields: 'budget' }, 'GET project/?fields=budget&limit=20'],
  ['list', { resource: 'rate' }, 'GET rate/?limit=20'],
  [
    'list',
    { resource: 'task', filters: Object.fromEntries(manyFilters) },
    `GET task/?${manyFilters.map((filter) => filter.join('=')).join('&')}&limit=20`,
  ],
  ['list', { resource: 'person', filters: { password__like: '%' } }, 'GET person/?password__like=%25&limit=20'],
  ['get', { resource: 'task', id: 3 }, 'GET task/3/'],
  [
    'get',
    { resource: 'task', id: '4', fields: 'title', include: 'project' },
    'GET task/4/?fields=title&include=project',
  ],
  ['get', { resource: 'project', id: 1 }, 'GET project/1/'],
  ['get', { resource: 'project', id: '1/../2?x=1' }, 'GET project/1%2F..%2F2%3Fx%3D1/'],
  ['get', { resource: 'company', id: 'x' }, 'GET company/x/'],
  [
    'aggregate',
    { resource: 'entry', aggregate: 'count,minutes__sum', by: 'task' },
    'GET entry/?aggregate=count,minutes__sum&by=task&limit=20',
  ],
  ['aggregate', { resource: 'entry', aggregate: 'total' }, 'GET entry/?aggregate=total&limit=20'],
  ['aggregate', { resource: 'task', aggregate: 'count' }, 'GET task/?aggregate=count&limit=20'],
  ['create', { resource: 'task', values: { title: 1, nope: 2 } }, 'POST task/', { title: 1, nope: 2 }],
  [
    'create',
    { resource: 'project', values: { name: 'New', company_id: 99 } },
    'POST project/',
    { name: 'New', company_id: 99 },
  ],
  [
    'create',
    { resource: 'entry', values: { minutes: 'x', day: 'y', task_id: 1 } },
    'POST entry/',
    { minutes: 'x', day: 'y', task_id: 1 },
  ],
  ['create', { resource: 'rate', values: { hourly: 1 }, idempotency_key: 'a' }, 'POST rate/', { hourly: 1 }],
  ['update', { resource: 'task', id: 4, values: { title: 'Pack' } }, 'PATCH task/4/', { title: 'Pack' }],
  ['update', { resource: 'task', id: 4, values: { title: null }, if_match: '"old"' }, 'PATCH task/4/', { title: null }],
  ['update', { resource: 'project', id: 1, values: { budget: 50_000 } }, 'PATCH project/1/', { budget: 50_000 }],
  ['update', { resource: 'comment', id: 1, values: { author_id: 1 } }, 'PATCH comment/1/', { author_id: 1 }],
  ['update', { resource: 'person', id: 1, values: { id: 2 } }, 'PATCH person/1/', { id: 2 }],
  ['delete', { resource: 'company', id: 1 }, 'DELETE company/1/'],
  ['delete', { resource: 'tag', id: 1 }, 'DELETE tag/1/'],
  ['delete', { resource: 'invoice', id: 4 }, 'DELETE invoice/4/'],
]

/** What a tool call must say, by the response to the HTTP request. */
function expectedOf({ status, headers, text }: Reply): ToolReply {
  if (status === 401) return { isError: true, text: expect.stringContaining('does not permit') }
  if (status >= 400) return { isError: true, text: JSON.parse(text).detail }
  const { etag } = headers
  const isRecord = etag !== undefined && !etag.startsWith('W/')
  return { isError: false, text: isRecord ? `{"etag":${JSON.stringify(etag)},"record":${text}}` : text }
}

test.each(everybody)('%s gets the same from tools as from HTTP, and is refused the same', async (who) => {
  const statuses = new Set<number>()
  await clientOf(who)
  const compare = async ([tool, args, line, body]: (typeof twins)[number]): Promise<void> => {
    const headers = {
      ...headersOf(who),
      ...('if_match' in args && { 'If-Match': String(args['if_match']) }),
      ...('idempotency_key' in args && { 'Idempotency-Key': String(args['idempotency_key']) }),
    }
    const reply = await send(world.url, line.replace(' ', ' /api/'), { headers, body })
    statuses.add(reply.status)
    expect({ args, ...(await call(who, tool, args)) }).toEqual({ args, ...expectedOf(reply) })
  }
  await Promise.all(twins.map(compare))
  expect(statuses.has(200)).toBe(true)
  expect(statuses.has(who === 'program' ? 401 : 404)).toBe(true)
  expect(world.faults).toEqual([])
})

test('records are created, read, changed and deleted', async () => {
  const values = { title: 'Plan', project_id: 1 }
  const created = (await resultOf('ann', 'create', { resource: 'task', values })) as { etag: string; record: Args }
  const { etag, record } = created
  const one = { resource: 'task', id: record['id'] }
  expect(await resultOf('ann', 'get', one)).toEqual(created)
  const updated = await resultOf('ann', 'update', { ...one, values: { state: 'doing' }, if_match: etag })
  expect(updated).toMatchObject({ record: { ...record, state: 'doing' } })
  expect((await call('ann', 'delete', { ...one, if_match: etag })).text).toContain('does not match If-Match')
  expect(await call('ann', 'delete', one)).toEqual({ isError: false, text: 'The record is deleted.' })
  expect(await call('ann', 'get', one)).toEqual({ isError: true, text: 'there is no task with this id' })
})

test.each([
  ['list', {}, 'resource is required'],
  ['list', { resource: 'tasks' }, 'there is no resource "tasks"; resources: project, guest, task, tag'],
  ['describe', { resource: 'tasks' }, 'there is no resource "tasks"; resources: project, guest, task, tag'],
  ['describe', { resource: '__proto__' }, 'there is no resource "__proto__"'],
  [
    'list',
    { resource: 'task', filter: {} },
    'filter is not an argument of "list"; arguments: resource, filters, search',
  ],
  ['list', { resource: 'task', filters: 'state=open' }, 'filters must be an object'],
  ['list', { resource: 'task', filters: { assignee: null } }, '"assignee__is": "null"'],
  ['list', { resource: 'task', filters: { id__in: [1, 2] } }, 'filters.id__in must be a string, a number or a boolean'],
  [
    'list',
    { resource: 'task', filters: { id: 2 ** 60 } },
    'filters.id must be a string, because a number in JSON can lose digits',
  ],
  ['list', { resource: 'task', filters: { id: -0.1234567890123456 } }, 'filters.id must be a string'],
  ['list', { resource: 'task', filters: { limit: 1 } }, 'filters.limit is not a filter but an argument of its own'],
  ['list', { resource: 'entry', filters: { format: 'csv' } }, 'filters.format is not a filter'],
  ['list', { resource: 'task', limit: '5' }, 'limit must be an integer'],
  ['list', { resource: 'task', limit: 0 }, 'limit'],
  ['get', { resource: 'task' }, 'id is required'],
  ['get', { resource: 'task', id: '' }, 'id must not be empty'],
  ['get', { resource: 'task', id: 1.5 }, 'id must be a string or an integer'],
  ['create', { resource: 'task', values: [{ title: 'a' }] }, 'values must be an object'],
  ['update', { resource: 'task', id: 1, values: { status: 'done' } }, 'state'],
])('a wrong call of %s with %j says what is allowed', async (name, args, expected) => {
  expect(await call('ann', name, args)).toEqual({ isError: true, text: expect.stringContaining(expected) })
})

const message = (method: string, params: Args = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const listTasks = message('tools/call', { name: 'list', arguments: { resource: 'task' } })

function post(body: unknown, { headers, ...more }: SendOptions = {}): Promise<Reply> {
  const types = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  return send(world.url, 'POST /api/-/mcp', { body, headers: { ...types, ...headers }, ...more })
}

test.each([
  ['a list of the tools', message('tools/list')],
  [
    'the first message of a client',
    message('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }),
  ],
  ['a call of describe', message('tools/call', { name: 'describe' })],
  ['a call', listTasks],
])('without correct credentials, %s is refused with the challenges of the service', async (_, body) => {
  for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
    const { status, headers: sent } = await post(body, { headers })
    expect([status, sent['www-authenticate']]).toEqual([401, expect.stringContaining('Bearer')])
  }
})

test('a client without credentials cannot connect', async () => {
  await expect(connectAgent(world.url)).rejects.toThrow(/Authentication failed/)
})

test.each<[string, unknown, Record<string, string>, number, string]>([
  ['another content type', JSON.stringify(listTasks), { 'Content-Type': 'text/plain' }, 415, 'application/json'],
  [
    'a form',
    `data=${JSON.stringify(listTasks)}`,
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    415,
    'application/json',
  ],
  ['no JSON', '{', {}, 400, '"code":-32700'],
  ['several messages', [listTasks, listTasks], {}, 400, '"code":-32700'],
  ['no message', {}, {}, 400, '"code":-32700'],
  ['a large body', { ...listTasks, more: 'x'.repeat(2000) }, {}, 413, 'at most 2000 bytes'],
  ['a page of another site', listTasks, { Origin: 'https://evil.example' }, 403, 'cross-origin'],
  ['a page of another site, by Sec-Fetch-Site', listTasks, { 'Sec-Fetch-Site': 'cross-site' }, 403, 'cross-origin'],
  ['a client that accepts no JSON', listTasks, { Accept: 'text/html' }, 406, 'Not Acceptable'],
  ['an unknown version', listTasks, { 'MCP-Protocol-Version': '1999-01-01' }, 400, 'protocol version'],
  ['an unknown method', message('resources/list'), {}, 200, '"code":-32601'],
  ['an unknown tool', message('tools/call', { name: 'drop', arguments: {} }), {}, 200, 'tools: describe, list, get'],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, {}, 202, ''],
])('%s is answered as the protocol says', async (_, body, headers, status, text) => {
  const reply = await post(body, { headers: { ...headersOf('ann'), ...headers } })
  expect([reply.status, reply.text]).toEqual([status, text === '' ? '' : expect.stringContaining(text)])
})

test('a call as a task is refused before it is carried out', async () => {
  const values = { title: 'Twice', project_id: 1 }
  const params = { name: 'create', arguments: { resource: 'task', values }, task: { ttl: 1000 } }
  const { text } = await post(message('tools/call', params), { headers: headersOf('ann') })
  expect(JSON.parse(text)).toMatchObject({ error: { code: expect.any(Number) } })
  expect(await world.sql(`SELECT "id" FROM "task" WHERE "title" = 'Twice'`)).toEqual([])
})

test.each(['GET', 'DELETE'])('there are no streams and sessions: %s is refused', async (method) => {
  const { status, headers } = await send(world.url, `${method} /api/-/mcp`, { headers: headersOf('ann') })
  expect([status, headers['allow']]).toEqual([405, 'POST'])
})

test('each call is an event of the resource', async () => {
  const events: RequestEvent[] = []
  const receive = (event: unknown) => void events.push(event as RequestEvent)
  channels.request.subscribe(receive)
  await call('ann', 'list', { resource: 'task' })
  await call('ann', 'get', { resource: 'task', id: 99 })
  channels.request.unsubscribe(receive)
  expect(events).toMatchObject([
    { resource: 'task', method: 'GET', status: 200, rows: expect.any(Number) },
    { resource: 'task', method: 'GET', status: 404 },
  ])
})
