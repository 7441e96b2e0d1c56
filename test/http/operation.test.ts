import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import Koa from 'koa'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { type MountOptions, mountResources, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { listen } from '../support/listen'
import { worldPerTest } from '../support/world-per-test'
import { createDataSource, isPostgres, isSqlite, recorder } from '../world/leg'
import { openDataSource, type World } from '../world/world'

const openForTest = worldPerTest()
const open = (mount: MountOptions): Promise<World> => openForTest({ mount })

@Entity()
@Resource()
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

/** A limit, a query string within it, one that exceeds it, and a part of the error message. */
const limits: readonly (readonly [MountOptions, string, string, string])[] = [
  [{ limits: { parameters: 2 } }, 'score=1&limit=1', 'score=1&limit=1&page=1', 'at most 2 parameters'],
  [{ limits: { parameterName: 5 } }, 'score=1', 'published=1', 'name may have at most 5 characters, one has 9'],
  [{ limits: { parameterValue: 5 } }, 'title=abcde', 'title=abcdef', 'title may have at most 5 characters, it has 6'],
  [{ limits: { filters: 1 } }, 'score=1&limit=1', 'score=1&title=x', 'at most 1 filters'],
  [{ limits: { members: 2 } }, 'score__in=1,2', 'score__in=1,2,3', 'may have at most 2 members, this has 3'],
  [{ limits: { pattern: 3 } }, 'title__like=a%25', 'title__like=abc%25', 'pattern of at most 3 characters, this has 4'],
  [{ limits: { allPatterns: 3 } }, 'title__like=a%25', 'title__like=a%25&body__ilike=b%25', 'one pattern too many'],
  [{ limits: { joinDepth: 1 } }, 'parent__score=1', 'parent__parent__score=1', 'at most 1 are allowed'],
  [{ limits: { joins: 1 } }, 'parent__score=1', 'parent__score=1&author__username=x', 'more tables than the 1 allowed'],
  [{ limits: { depth: 1000 } }, 'limit=10&page=100', 'limit=10&page=101', 'pages end at record 1000'],
  [{ limit: { max: 10 } }, 'limit=10', 'limit=11', 'from 1 to 10'],
]
test.each(limits)('a query string that exceeds the limit %j is refused', async (mount, within, beyond, message) => {
  const { url } = await open(mount)
  expect((await send(url, `GET /api/note/?${within}`)).status).toBe(200)
  const reply = await send(url, `GET /api/note/?${beyond}`)
  expect([reply.status, reply.json()]).toMatchObject([400, { detail: expect.stringContaining(message) }])
})

test('a body that exceeds the limit is refused', async () => {
  const { url } = await open({ limits: { body: 40 } })
  const post = (title: string) => send(url, 'POST /api/note/', { as: 'bob', body: { title, author_id: 2 } })
  expect((await post('x')).status).toBe(201)
  const reply = await post('x'.repeat(20))
  expect([reply.status, reply.json()]).toMatchObject([413, { detail: 'a body may have at most 40 bytes' }])
})

test('health responds with 200 or 503, without data, and takes one statement', async () => {
  const { url, dataSource, statements } = await open({ health: true })
  statements()
  for (const line of ['GET /api/health/', 'GET /api/health', 'HEAD /api/health/']) {
    const { status, text, headers } = await send(url, line)
    expect([line, status, text]).toEqual([line, 200, line.startsWith('HEAD') ? '' : '{"status":"pass"}'])
    expect(headers['cache-control']).toBe('no-store')
  }
  expect(statements()).toEqual(isSqlite ? [] : Array(3).fill('/* typeorm-resources */ SELECT 1'))
  expect((await send(url, 'POST /api/health/')).status).toBe(404)
  await dataSource.destroy()
  const reply = await send(url, 'GET /api/health/')
  expect([reply.status, reply.json()]).toMatchObject([503, { detail: 'the database does not respond' }])
  expect((await send(url, 'GET /api/note/')).status).toBe(503)
  await dataSource.initialize()
  expect((await send(url, 'GET /api/note/')).status).toBe(404 - 204)
})

test('a mount responds with 503 until its data source is initialized', async () => {
  const dataSource: DataSource = await createDataSource({ entities: [Thing], synchronize: true })
  const app = new Koa()
  const mounted = mountResources(app, dataSource)
  app.use((context) => {
    context.body = 'the next'
  })
  const server = createServer(app.callback())
  const url = await listen(server)
  expect(mounted.resources).toEqual([])
  for (const line of ['GET /api/thing/', 'PUT /api/thing/1/', 'GET /api/whatever/']) {
    const { status, headers, text } = await send(url, line)
    expect([line, status, headers['retry-after']]).toEqual([line, 503, '1'])
    expect(text).toContain('dataSource.initialize()')
  }
  expect((await send(url, 'GET /elsewhere')).text).toBe('the next')
  await dataSource.initialize()
  expect(mounted.resources.map(({ path }) => path)).toEqual(['/api/thing/'])
  expect((await send(url, 'GET /api/thing/')).status).toBe(200)
  expect((await send(url, 'GET /api/whatever/')).text).toBe('the next')
  await new Promise((resolve) => server.close(resolve))
  await dataSource.destroy()
})

test('a data source that is initialized again with other options uses other tables', async () => {
  const dataSource = await openDataSource([Thing])
  const app = new Koa()
  mountResources(app, dataSource, { defaultAuth: permitAll })
  const server = createServer(app.callback())
  const url = await listen(server)
  const postAndCount = async (name: string): Promise<unknown> => {
    expect((await send(url, 'POST /api/thing/', { body: { name } })).status).toBe(201)
    const list = await send(url, 'GET /api/thing/?count=exact')
    const stored = await dataSource.getRepository(Thing).find()
    return [(list.json() as { meta: { total: number } }).meta.total, stored.map((one) => one.name)]
  }
  expect(await postAndCount('old')).toEqual([1, ['old']])
  await dataSource.destroy()
  await dataSource.setOptions({ entityPrefix: 'new_' }).initialize()
  expect(await postAndCount('new')).toEqual([1, ['new']])
  await new Promise((resolve) => server.close(resolve))
  await dataSource.destroy()
})

test('the diagnostics channels publish requests, statements, refusals and faults, without any values', async () => {
  const { url, sql } = await open({})
  const events: [string, unknown][] = []
  const listen = (message: unknown, name: string | symbol): void => {
    events.push([String(name).replace('typeorm-resources:', ''), message])
  }
  const names = ['request', 'statement', 'refusal', 'fault'].map((name) => `typeorm-resources:${name}`)
  for (const name of names) subscribe(name, listen)
  await send(url, 'GET /api/note/?title=alpha')
  await send(url, 'POST /api/note/', { as: 'bob', body: { title: 'canary', author_id: 99 } })
  await sql('DROP TABLE "language_word"')
  await send(url, 'GET /api/word/')
  for (const name of names) unsubscribe(name, listen)
  await send(url, 'GET /api/note/')
  const milliseconds = expect.any(Number)
  const statement = (resource: string, rows: number, failed = false) => [
    'statement',
    { resource, milliseconds, rows, failed },
  ]
  const request = (resource: string, method: string, status: number, statements: number, rows: number) => [
    'request',
    { resource, method, status, milliseconds, statements, rows },
  ]
  const statements = events.filter(([name]) => name === 'statement')
  const others = events.filter(([name]) => name !== 'statement')
  expect(statements[0]).toEqual(statement('note', 1))
  expect(statements.at(-1)).toEqual(statement('word', 0, true))
  expect(others).toEqual([
    request('note', 'GET', 200, 1, 1),
    ['refusal', { resource: 'note', method: 'POST', code: 'bad-values', status: 400 }],
    request('note', 'POST', 400, statements.length - 2, expect.any(Number) as unknown as number),
    ['fault', { resource: 'word', method: 'GET', name: expect.stringMatching(/^(Database|Sqlite)Error$/) }],
    request('word', 'GET', 500, 1, 0),
  ])
  expect(JSON.stringify(events)).not.toMatch(/alpha|canary|bob/)
})

test('responses have a Server-Timing header if the option is set', async () => {
  const pattern = /^db;dur=\d+\.\d;desc="1 SQL", total;dur=\d+\.\d$/
  expect((await send((await open({ serverTiming: true })).url, 'GET /api/note/')).headers['server-timing']).toMatch(
    pattern,
  )
  expect((await send((await open({})).url, 'GET /api/note/')).headers['server-timing']).toBeUndefined()
})

/** The lines that a mount logs with the logger of the data source. */
async function warnings(prepare: (dataSource: DataSource) => Promise<unknown>): Promise<readonly string[]> {
  const dataSource = await openDataSource([Thing])
  await prepare(dataSource)
  const logged: string[] = []
  const logger = {
    ...recorder(() => {}),
    log: (level: string, message: string) => void logged.push(`${level} ${message}`),
  }
  Object.assign(dataSource, { logger })
  mountResources(new Koa(), dataSource)
  await new Promise((resolve) => setTimeout(resolve, 500))
  await dataSource.destroy()
  return logged
}

test('a mount logs a warning for each dangerous setting', async () => {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  const logged = await warnings(async (dataSource) => {
    Object.assign(dataSource.options, { extra: { ...dataSource.options.extra, query_timeout: 1000 } })
    if (!isSqlite) return
    for (const setting of ['foreign_keys = OFF', 'ignore_check_constraints = ON', 'count_changes = ON']) {
      await dataSource.query(`PRAGMA ${setting}`)
    }
  })
  Object.assign(process.env, { NODE_ENV })
  const expected = [
    'warn typeorm-resources: synchronize is on in production',
    ...(isPostgres
      ? ['warn typeorm-resources: query_timeout gives up', 'warn typeorm-resources: no statement_timeout']
      : []),
    ...(isSqlite
      ? [
          'warn typeorm-resources: foreign_keys is off',
          'warn typeorm-resources: ignore_check_constraints is on',
          'warn typeorm-resources: count_changes is on',
        ]
      : []),
  ]
  expect(logged).toEqual(expected.map((text) => expect.stringContaining(text)))
})

test('a mount logs no warning for safe settings', async () => {
  const logged = await warnings(async (dataSource) => {
    if (!isPostgres) return
    // Set through the connection, since the mount reads the setting from the database, and not from the options.
    const { options } = dataSource.options.extra
    Object.assign(dataSource.options, { extra: { options: `${options} -c statement_timeout=10000` } })
    await dataSource.destroy()
    await dataSource.initialize()
  })
  expect(logged).toEqual([])
})
