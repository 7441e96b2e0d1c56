import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import {
  Column,
  type DataSource,
  Entity,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm'
import {
  ApiKeys,
  apiKeys,
  basic,
  createApiKey,
  mountResources,
  type Principal,
  type RefusalEvent,
  Resource,
  readOnlyRule,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { type Reply, send } from '../client'
import { EventReader } from '../support/event-reader'
import { unhashed } from '../support/unhashed'
import { sqlOf, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** API keys: authentication, permissions, creation and last use. */

@Entity()
@UserAccount({ ...unhashed, principal: ['team'] })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
  @Column({ default: 'red' }) team!: string
}

@Entity()
@Resource({ ownerField: 'user' })
@ApiKeys()
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 20 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Member, { nullable: false }) user!: Relation<Member>
  @Column({ ...types.instant, nullable: true }) expires!: Date | null
  @Column({ ...types.instant, nullable: true }) lastUsed!: Date | null
  @Column({ type: 'simple-json', nullable: true }) permissions!: Record<string, string[]> | null
  @Column({ default: '' }) name!: string
  @VersionColumn() version!: number
  @UpdateDateColumn() changed!: Date
}

@Entity()
@Resource({ auth: userRule() })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

interface MemberPrincipal extends Principal {
  readonly team?: string
}

@Entity()
@Resource({ auth: userRule(), scope: (me) => ({ team: (me as MemberPrincipal).team ?? null }) })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @Column({ default: 'red' }) team!: string
  @ManyToOne(() => Project) project!: Relation<Project> | null
}

@Entity()
@Resource({ auth: readOnlyRule() })
class Notice {
  @PrimaryGeneratedColumn() id!: number
}

const entities = [Member, Token, Project, Task, Notice]
const ann = { id: 1 }
const idle = { id: 2 }

let world: World
const logged: string[] = []
/** The responses with server-sent events. */
const streams: ServerResponse[] = []
const seed = async (dataSource: DataSource): Promise<void> => {
  const { logger } = dataSource
  const log = logger.log.bind(logger)
  logger.log = (level, line) => {
    logged.push(`${level} ${line}`)
    log(level, line)
  }
  const members = dataSource.getRepository(Member)
  await members.insert({ username: 'ann', password: 'ann' })
  await members.insert({ username: 'idle', password: 'idle', active: false })
  await dataSource.getRepository(Project).insert({ name: 'p' })
  await dataSource.getRepository(Task).insert({ text: 't', project: { id: 1 } })
  await dataSource.getRepository(Task).insert({ text: 'blue', team: 'blue' })
}
beforeAll(async () => {
  const mount = { authenticators: [basic(), apiKeys()], strictRelations: true }
  world = await openWorld({
    entities,
    seed,
    before: (app) => {
      app.use((context, next) => {
        if (context.get('Accept') === 'text/event-stream') streams.push(context.res)
        return next()
      })
    },
    mountOn: (app, dataSource) => {
      mountResources(app, dataSource, { ...mount, prefix: '/live', live: true, limits: { liveCheck: 50 } })
      mountResources(app, dataSource, { ...mount, prefix: '/watched', live: true })
      return mountResources(app, dataSource, mount)
    },
  })
})
afterAll(() => world.close())

const newKey = (values: Record<string, unknown> = {}): Promise<string> =>
  createApiKey(world.dataSource, { user: ann, ...values })
const withKey = (line: string, key: string, body?: unknown): Promise<Reply> =>
  send(world.url, line, { headers: { Authorization: `ApiKey ${key}` }, body })
const prefixOf = (key: string): string => key.slice(0, 15)
const rowOf = async (key: string): Promise<Record<string, unknown>> => {
  const [row] = await world.sql(`SELECT * FROM "token" WHERE "prefix" = '${prefixOf(key)}'`)
  return row ?? {}
}
/** Collects the refusal events until the work is done. */
const refusalsOf = async (work: () => Promise<unknown>): Promise<readonly RefusalEvent[]> => {
  const events: RefusalEvent[] = []
  const add = (event: unknown): void => void events.push(event as RefusalEvent)
  subscribe('typeorm-resources:refusal', add)
  await work().finally(() => unsubscribe('typeorm-resources:refusal', add))
  return events
}

test('a key is the user: with the properties of the principal, in lists, items and writes', async () => {
  const key = await newKey()
  expect(key).toMatch(/^ak_[a-z2-7]{12}_[a-z2-7]{32}$/)
  expect((await withKey('GET /api/task/', key)).json()).toMatchObject({ objects: [{ id: 1, text: 't' }] })
  expect((await withKey('GET /api/task/2/', key)).status).toBe(404)
  expect((await withKey('PATCH /api/task/1/', key, { text: 't' })).status).toBe(200)
})

const hour = 3_600_000
const other = `ak_${'a'.repeat(12)}_${'b'.repeat(32)}`

test.each<[rule: string, values: Record<string, unknown>, header: (key: string) => string, reason: string]>([
  ['an unknown prefix', {}, () => `ApiKey ${other}`, 'there is no API key with this prefix'],
  [
    'the right prefix with another secret',
    {},
    (key) => `ApiKey ${prefixOf(key)}_${'b'.repeat(32)}`,
    'the secret of the API key is wrong',
  ],
  ['an expired key', { expires: new Date(Date.now() - 1000) }, (key) => `ApiKey ${key}`, 'the API key has expired'],
  ['an inactive user', { user: idle }, (key) => `ApiKey ${key}`, 'the user of the API key is not active'],
  ...[
    ['the prefix alone', (key: string) => `ApiKey ${prefixOf(key)}`] as const,
    ['no key', () => 'ApiKey'] as const,
    ['upper case', (key: string) => `ApiKey ${key.toUpperCase()}`] as const,
    ['a letter more', (key: string) => `ApiKey ${key}a`] as const,
    ['a very long key', (key: string) => `ApiKey ${key.repeat(200)}`] as const,
    ['two keys', (key: string) => `ApiKey ${key} ${key}`] as const,
    ['wildcards', (key: string) => `ApiKey ak_${'%'.repeat(12)}_${key.slice(16)}`] as const,
    ['SQL', () => `ApiKey ak_' OR 1=1 --`] as const,
  ].map(
    ([rule, header]) =>
      [rule, {}, header, 'the credentials do not have the form of an API key'] as [
        string,
        Record<string, unknown>,
        (key: string) => string,
        string,
      ],
  ),
  [
    'another scheme',
    {},
    (key) => `Bearer ${key}`,
    'the scheme of the credentials is not configured; configured: Basic, ApiKey',
  ],
  [
    'a key as the password of HTTP Basic',
    {},
    (key) => `Basic ${Buffer.from(`ann:${key}`).toString('base64')}`,
    'the password is wrong, and the stored one does not look like a hash; store the result of hashPassword()',
  ],
])('%s is refused, and the reason is in the refusal event only', async (_, values, header, reason) => {
  const key = await newKey(values)
  let reply: Reply | undefined
  const events = await refusalsOf(async () => {
    reply = await send(world.url, 'GET /api/task/', { headers: { Authorization: header(key) } })
  })
  expect(events).toEqual([{ resource: 'task', method: 'GET', code: 'unauthorized', status: 401, reason }])
  expect([reply?.status, reply?.text]).toEqual([401, 'Authentication failed'])
  expect(reply?.headers['www-authenticate']).toBe('Basic realm="Login Required", ApiKey realm="API"')
})

test.each([
  ['ApiKey', 200],
  ['apikey', 200],
  ['APIKEY ', 200],
])('the scheme %s is accepted in any letters', async (scheme, status) => {
  const key = await newKey({ expires: new Date(Date.now() + hour) })
  const reply = await send(world.url, 'GET /api/task/', { headers: { Authorization: `${scheme} ${key} ` } })
  expect(reply.status).toBe(status)
})

test('a key in the query string or in another header is ignored', async () => {
  const key = await newKey()
  const headers = { 'X-Api-Key': key }
  expect((await send(world.url, 'GET /api/task/', { headers })).status).toBe(401)
  const inQuery = await send(world.url, `GET /api/task/?api_key=${key}`, { as: 'ann' })
  expect(inQuery.status).toBe(400)
  expect((await send(world.url, `GET /api/task/?api_key=${key}`)).status).toBe(401)
})

const revocations: Readonly<Record<string, (key: string) => string>> = {
  'the key is deleted': (key) => `DELETE FROM "token" WHERE "prefix" = '${prefixOf(key)}'`,
  'the key has another hash': (key) =>
    `UPDATE "token" SET "hash" = '${'0'.repeat(64)}' WHERE "prefix" = '${prefixOf(key)}'`,
  'the stored hash is no hash': (key) => `UPDATE "token" SET "hash" = 'x' WHERE "prefix" = '${prefixOf(key)}'`,
  'the key expires': (key) =>
    `UPDATE "token" SET "expires" = '2001-01-01 00:00:00' WHERE "prefix" = '${prefixOf(key)}'`,
}

test.each(Object.keys(revocations))('in a stream of requests, none is accepted after %s', async (name) => {
  const key = await newKey()
  let isRevoked = false
  const afterwards: number[] = []
  const before: number[] = []
  const stream = async (): Promise<void> => {
    for (let count = 0; count < 15; count++) {
      const statuses = isRevoked ? afterwards : before
      statuses.push((await withKey('GET /api/task/', key)).status)
    }
  }
  const streams = Promise.all([stream(), stream(), stream(), stream()])
  await withKey('GET /api/task/', key)
  await world.sql(revocations[name]?.(key) ?? '')
  isRevoked = true
  await streams
  expect((await withKey('GET /api/task/', key)).status).toBe(401)
  expect(before).toContain(200)
  expect(new Set(afterwards)).toEqual(new Set([401]))
})

test('requests that arrive together share the statement that reads the key', async () => {
  const headers = { Authorization: `ApiKey ${await newKey()}` }
  const agent = new Agent({ keepAlive: true, maxSockets: 10 })
  world.statements()
  const requests = Array.from({ length: 300 }, () => send(world.url, 'GET /api/task/?limit=1', { headers, agent }))
  const replies = await Promise.all(requests)
  agent.destroy()
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  const lookups = world.statements().filter((sql) => /FROM .*tr_key/.test(sql))
  expect(lookups.length).toBeGreaterThan(0)
  expect(lookups.length).toBeLessThan(300)
})

describe('permissions of keys', () => {
  const requests: Readonly<Record<string, readonly [line: string, body?: unknown]>> = {
    'task read': ['GET /api/task/'],
    'task read item': ['GET /api/task/1/'],
    'task read HEAD': ['HEAD /api/task/'],
    'task read OPTIONS': ['OPTIONS /api/task/'],
    'task create': ['POST /api/task/', { text: 'n' }],
    'task update PUT': ['PUT /api/task/1/', { text: 't' }],
    'task update PATCH': ['PATCH /api/task/1/', { text: 't' }],
    'task delete': ['DELETE /api/task/999/'],
    'project read': ['GET /api/project/'],
    'project create': ['POST /api/project/', { name: 'n' }],
    'notice read': ['GET /api/notice/'],
  }
  const all = ['read', 'create', 'update', 'delete']
  /** Each row: permissions, and which resources and actions they permit. The notices are public. */
  const rows: readonly (readonly [permissions: Record<string, string[]> | null, permitted: readonly string[]])[] = [
    [null, ['task read', 'task create', 'task update', 'task delete', 'project read', 'project create']],
    [{}, []],
    [{ task: [] }, []],
    [{ task: ['read'] }, ['task read']],
    [{ task: ['create'], project: ['read'] }, ['task create', 'project read']],
    [{ task: ['update', 'delete'] }, ['task update', 'task delete']],
    [
      { task: all, project: all },
      ['task read', 'task create', 'task update', 'task delete', 'project read', 'project create'],
    ],
    [{ constructor: ['read'], Task: ['read'] }, []],
  ]
  test.each(rows)('%j', async (permissions, permitted) => {
    const key = await newKey({ permissions })
    const refused: string[] = []
    for (const [name, [line, body]] of Object.entries(requests)) {
      const { status } = await withKey(line, key, body)
      if (status === 401) refused.push(name)
      else expect({ name, status }).toEqual({ name, status: name === 'task delete' ? 404 : expect.any(Number) })
      expect(status).toBeLessThan(500)
    }
    const isPermitted = (name: string): boolean =>
      name === 'notice read' || permitted.some((start) => name.startsWith(start))
    expect(refused).toEqual(Object.keys(requests).filter((name) => !isPermitted(name)))
  })

  test.each([
    ['task/?project__name=p&text=t', 1, 0],
    ['task/?or=(project__name:p,text:blue)&text=t', 1, 0],
    ['task/?not=(project__name:q)&text=t', 1, 1],
    ['task/?project__name__is=null&text=t', 0, 1],
    ['task/?ordering=project__name&text=t', 1, 1],
    ['project/?name=p', 1, 401],
  ])('%s needs the permission to read the related resource', async (path, permitted, restricted) => {
    const countOf = async (permissions: object): Promise<unknown> => {
      const reply = await withKey(`GET /api/${path}`, await newKey({ permissions }))
      return reply.status === 200 ? Object(reply.json()).objects.length : reply.status
    }
    expect(await countOf({ task: ['read'], project: ['read'] })).toBe(permitted)
    expect(await countOf({ task: ['read'] })).toBe(restricted)
  })

  test('a foreign key in a body needs the permission to read the related resource', async () => {
    const post = async (permissions: object): Promise<number> =>
      (await withKey('POST /api/task/', await newKey({ permissions }), { text: 'x', project_id: 1 })).status
    expect(await post({ task: ['create', 'read'], project: ['read'] })).toBe(201)
    expect(await post({ task: ['create', 'read'] })).toBe(400)
  })

  test.each(['\'{"task":"read"}\'', "'[]'", '\'"task"\'', '\'{"task":["write"]}\'', "'no JSON'", "'7'", "''"])(
    'the stored permissions %s are invalid: the key is refused',
    async (stored) => {
      const key = await newKey({ permissions: { task: ['read'] } })
      await world.sql(`UPDATE "token" SET "permissions" = ${stored} WHERE "prefix" = '${prefixOf(key)}'`)
      const [event] = await refusalsOf(() => withKey('GET /api/task/', key))
      expect(event?.reason).toMatch(/^the stored permissions of the API key are invalid/)
    },
  )
})

describe('POST of an API key', () => {
  const create = (body: object, as = 'ann'): Promise<Reply> => send(world.url, 'POST /api/token/', { as, body })

  test('the response has the key, which works; nothing else shows it or its hash', async () => {
    const reply = await create({ name: 'ci', permissions: { task: ['read'] } })
    expect(reply.status).toBe(201)
    const { key, ...record } = Object(reply.json())
    expect(reply.headers['cache-control']).toBe('no-store')
    expect(record).toMatchObject({ prefix: prefixOf(key), name: 'ci', user_id: 1, permissions: { task: ['read'] } })
    expect((await withKey('GET /api/project/', key)).status).toBe(401)
    const readItem = (): Promise<Reply> => send(world.url, `GET ${reply.headers.location}`, { as: 'ann' })
    let item = await readItem()
    // The time is written after the response, or by a later use if that of another key is being written.
    while (Object(item.json()).lastUsed === null) {
      expect((await withKey('GET /api/task/', key)).status).toBe(200)
      item = await readItem()
    }
    const { hash } = await rowOf(key)
    expect(Object(item.json())).toEqual({ ...record, lastUsed: expect.anything() })
    expect(Object.keys(Object(item.json()))).not.toContain('hash')
    const list = await send(world.url, 'GET /api/token/?limit=1000', { as: 'ann' })
    for (const { text } of [item, list]) {
      expect(text).not.toContain(key)
      expect(text).not.toContain(hash)
    }
  })

  test('the ETag is that of the record without the key', async () => {
    const reply = await create({})
    const item = await send(world.url, `GET ${reply.headers.location}`, { as: 'ann' })
    expect(reply.headers.etag).toBe(item.headers.etag)
  })

  test.each(['prefix', 'hash', 'lastUsed', 'key', 'id'])('a body cannot set %s', async (name) => {
    const reply = await create({ [name]: name === 'lastUsed' ? '2020-01-01' : other })
    expect(reply.status).toBe(400)
  })

  test.each(['prefix', 'hash', 'lastUsed', 'user_id'])('an update does not change %s', async (name) => {
    const { id, key } = Object((await create({})).json())
    const values: Record<string, unknown> = { lastUsed: '2020-01-01', user_id: 2 }
    const before = await rowOf(key)
    await send(world.url, `PUT /api/token/${id}/`, { as: 'ann', body: { [name]: values[name] ?? other } })
    expect(await rowOf(key)).toEqual(before)
  })

  test.each([[{ task: ['reads'] }], [{ task: 'read' }], [['task']], ['task'], [7]])(
    'the permissions %j are refused',
    async (permissions) => {
      const reply = await create({ permissions })
      expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'permissions' }] })
      const { id } = Object((await create({})).json())
      const update = await send(world.url, `PATCH /api/token/${id}/`, { as: 'ann', body: { permissions } })
      expect(update.status).toBe(400)
    },
  )

  test('the owner of a new key is who creates it, and others cannot change it', async () => {
    const { id, user_id: owner } = Object((await create({ user_id: 2 })).json())
    expect(owner).toBe(1)
    await world.sql(`UPDATE "member" SET "active" = ${sqlOf('TRUE')} WHERE "id" = 2`)
    const reply = await send(world.url, `DELETE /api/token/${id}/`, { as: 'idle' })
    await world.sql(`UPDATE "member" SET "active" = ${sqlOf('FALSE')} WHERE "id" = 2`)
    expect(reply.status).toBe(403)
  })

  test.each([[null], [{ token: ['read', 'create', 'update', 'delete'] }]])(
    'a key with the permissions %j neither creates nor changes keys, but can revoke them',
    async (permissions) => {
      const key = await newKey({ permissions })
      const { id } = await rowOf(key)
      expect((await withKey('POST /api/token/', key, { name: 'x' })).status).toBe(401)
      expect((await withKey(`PATCH /api/token/${id}/`, key, { permissions: null })).status).toBe(401)
      expect((await withKey(`PUT /api/token/${id}/`, key, { name: 'x' })).status).toBe(401)
      expect((await withKey(`GET /api/token/${id}/`, key)).status).toBe(200)
      expect((await withKey(`DELETE /api/token/${id}/`, key)).status).toBe(204)
      expect((await withKey(`GET /api/token/${id}/`, key)).status).toBe(401)
    },
  )

  test('the OpenAPI document has the scheme and the key of a new record', async () => {
    const { components, paths } = Object((await send(world.url, 'GET /api/openapi.json')).json())
    expect(components.securitySchemes.apikey).toMatchObject({ type: 'apiKey', in: 'header', name: 'Authorization' })
    expect(paths['/token'].post.responses['201'].content['application/json'].schema.allOf).toHaveLength(2)
    const { properties } = components.schemas['token.create']
    expect(Object.keys(properties).toSorted()).toEqual(['expires', 'name', 'permissions', 'user_id'])
  })
})

describe('the last use', () => {
  const setLastUsed = (key: string, secondsAgo: number): Promise<unknown> =>
    world.dataSource
      .getRepository(Token)
      .createQueryBuilder()
      .update()
      .set({ lastUsed: new Date(Date.now() - secondsAgo * 1000), version: 7 })
      .where({ prefix: prefixOf(key) })
      .execute()
  /**
   * The updates of the last use among the statements since the last call.
   * @param expected number of updates to wait for; then there is time for others
   */
  const updates = async (expected = 0): Promise<number> => {
    const statements: string[] = []
    const found = (): number => statements.filter((sql) => /^\s*UPDATE ["`].*lastUsed/i.test(sql)).length
    do {
      await setTimeout(150)
      statements.push(...world.statements())
    } while (found() < expected)
    return found()
  }
  const times = (count: number, key: string): Promise<readonly Reply[]> =>
    Promise.all(Array.from({ length: count }, () => withKey('GET /api/task/', key)))

  test('it is written after the first request, and not again within a minute', async () => {
    const key = await newKey()
    await updates()
    await times(20, key)
    expect(await updates(1)).toBe(1)
    await times(20, key)
    expect(await updates()).toBe(0)
    const { lastUsed } = await world.dataSource.getRepository(Token).findOneByOrFail({ prefix: prefixOf(key) })
    expect(Math.abs(Date.now() - Number(lastUsed))).toBeLessThan(10_000)
  })

  // The difference from a minute is the time in which a busy computer may send the requests.
  test.each([
    [30, 0],
    [61, 1],
  ])('after a use %d seconds ago there are %d updates, which keep the version', async (secondsAgo, count) => {
    const key = await newKey()
    await setLastUsed(key, secondsAgo)
    await updates()
    await times(3, key)
    expect(await updates(count)).toBe(count)
    const { version } = await world.dataSource.getRepository(Token).findOneByOrFail({ prefix: prefixOf(key) })
    expect(version).toBe(7)
  })

  test('it is written while a live list is streamed, whose checks add no listeners', async () => {
    const key = await newKey()
    await updates()
    const reader = await EventReader.open(`${world.url}/live/task/`, { Authorization: `ApiKey ${key}` })
    await reader.take(1)
    const listeners = (): number | undefined => streams.at(-1)?.listenerCount('close')
    const before = listeners()
    expect(await updates(1)).toBe(1)
    const lookups = (): number => world.statements().filter((sql) => /^\s*SELECT .*tr_key/s.test(sql)).length
    lookups()
    await setTimeout(500)
    expect(lookups()).toBeGreaterThan(2)
    expect([reader.isClosed, listeners()]).toEqual([false, before])
    reader.close()
    const { lastUsed } = await world.dataSource.getRepository(Token).findOneByOrFail({ prefix: prefixOf(key) })
    expect(Math.abs(Date.now() - Number(lastUsed))).toBeLessThan(10_000)
  })

  test.each<readonly [string, (key: string) => Promise<unknown>]>([
    [
      'the application deletes the key',
      (key) => world.dataSource.getRepository(Token).delete({ prefix: prefixOf(key) }),
    ],
    [
      'a request changes its permissions',
      async (key) => {
        const { id } = await world.dataSource.getRepository(Token).findOneByOrFail({ prefix: prefixOf(key) })
        const body = { permissions: { project: ['read'] } }
        expect((await send(world.url, `PATCH /watched/token/${id}/`, { as: 'ann', body })).status).toBe(200)
      },
    ],
  ])('when %s, the live lists of the key end at once', async (_, change) => {
    const [key, otherKey] = [await newKey(), await newKey()]
    const openList = (one: string): Promise<EventReader> =>
      EventReader.open(`${world.url}/watched/task/`, { Authorization: `ApiKey ${one}` })
    const [reader, other] = [await openList(key), await openList(otherKey)]
    expect([reader.status, other.status]).toEqual([200, 200])
    await change(key)
    await reader.waitForClose()
    expect(other.isClosed).toBe(false)
    other.close()
  })

  test('a refused key is not used', async () => {
    const key = await newKey({ expires: new Date(0) })
    await times(2, key)
    await setTimeout(100)
    expect((await rowOf(key))['lastUsed']).toBeNull()
  })

  test('if it cannot be written, the request succeeds, and the log says so', async () => {
    const key = await newKey()
    const { driver } = world.dataSource
    const prepare = driver.preparePersistentValue
    driver.preparePersistentValue = (value, column) => {
      if (column.propertyName === 'lastUsed') throw new Error('no time')
      return prepare.call(driver, value, column)
    }
    const [reply] = await times(1, key)
    await setTimeout(100)
    driver.preparePersistentValue = prepare
    expect(reply?.status).toBe(200)
    expect(logged).toContain('warn typeorm-resources: the last use of an API key could not be written')
  })
})

test('neither a key nor a hash is in a log line, event or error', async () => {
  const key = await newKey({ permissions: { task: ['read'] } })
  const { hash } = await rowOf(key)
  const events = await refusalsOf(async () => {
    await withKey('POST /api/task/', key, { text: key })
    await withKey('GET /api/task/', `${key}x`)
    await withKey('GET /api/task/', `${prefixOf(key)}_${'b'.repeat(32)}`)
    await send(world.url, 'GET /api/task/', { headers: { Authorization: key } })
  })
  expect(events).toHaveLength(4)
  const shown = inspect([events, logged, world.faults], { depth: 8, maxArrayLength: null, maxStringLength: null })
  for (const secret of [key, key.slice(16), hash]) expect(shown).not.toContain(secret)
})
