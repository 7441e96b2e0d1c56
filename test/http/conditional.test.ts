import {
  AfterLoad,
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Tree,
  TreeParent,
  VersionColumn,
} from 'typeorm'
import { type MountOptions, Resource } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from '../client'
import { permitAll } from '../support/access'
import { KiB, MiB, Story } from '../support/texts'
import { types } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ ...types.instant, nullable: true }) at!: Date | null
  @Column({ default: '' }) secret!: string
}

@Entity()
@Resource({ auth: permitAll, requireIfMatch: true })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @VersionColumn() version!: number
}

/** Has a hidden version, which the ETag must not reveal. */
@Entity()
@Resource({ auth: permitAll, exclude: ['version'] })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @VersionColumn() version!: number
}

/** Has a value that is different on each read. */
@Entity()
@Resource({ auth: permitAll })
class Clock {
  static ticks = 0
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @AfterLoad() tick(): void {
    this.title = `${this.title} ${Clock.ticks++}`
  }
}

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAll })
class Branch {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @TreeParent() parent!: Branch | null
}

@Entity()
@Resource({ auth: permitAll })
class Leaf {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToOne(() => Paper) paper!: Paper | null
}

@Entity()
@Resource({ auth: permitAll })
class Country {
  @PrimaryColumn({ type: 'varchar', length: 2 }) code!: string
  @Column() title!: string
}

const mount: MountOptions = {}
let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Paper, Page, Draft, Clock, Branch, Leaf, Country, Story], mount })
})
afterAll(() => world.close())

const request = (line: string, options: SendOptions = {}): Promise<Reply> => send(world.url, line, options)
const create = async (resource: string, body: object = { title: 'one' }): Promise<{ path: string; tag: string }> => {
  const { headers, status, text } = await request(`POST /api/${resource}/`, { body })
  expect([status, text]).toEqual([201, expect.anything()])
  return { path: String(headers.location), tag: String(headers.etag) }
}

const resources = ['paper', 'page', 'draft', 'clock', 'branch', 'leaf']

test.each(resources)(
  '%s: POST, GET, HEAD and PUT respond with the same strong ETag for the same state',
  async (resource) => {
    const { path, tag } = await create(resource)
    expect(tag).toMatch(/^"[\w-]+"$/)
    for (const method of ['GET', 'HEAD']) expect((await request(`${method} ${path}`)).headers.etag).toBe(tag)
    const put = await request(`PUT ${path}`, { body: { title: 'two' }, headers: { 'If-Match': tag } })
    expect([put.status, put.headers.etag === tag]).toEqual([200, false])
    expect((await request(`GET ${path}`)).headers.etag).toBe(put.headers.etag)
  },
)

test.each(resources)('%s: If-None-Match gets 304 without a body while the record is unchanged', async (resource) => {
  const { path, tag } = await create(resource)
  for (const list of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    for (const method of ['GET', 'HEAD']) {
      const reply = await request(`${method} ${path}`, { headers: { 'If-None-Match': list } })
      expect([list, reply.status, reply.text, reply.headers.etag]).toEqual([list, 304, '', tag])
      expect(reply.headers['cache-control']).toBe('no-cache')
    }
  }
  await request(`PUT ${path}`, { body: { title: 'two' }, headers: { 'If-Match': tag } })
  expect((await request(`GET ${path}`, { headers: { 'If-None-Match': tag } })).status).toBe(200)
})

const stale = ['"stale"', 'W/"stale"', 'stale', '', '"a", "b"']
test.each(resources)('%s: If-Match with another ETag gets 412 and changes nothing', async (resource) => {
  const { path, tag } = await create(resource)
  for (const list of [...stale, `W/${tag}`]) {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const headers = { 'If-Match': list }
      const reply = await request(`${method} ${path}`, {
        headers,
        ...(method === 'DELETE' ? {} : { body: { title: 'two' } }),
      })
      expect([method, list, reply.status]).toEqual([method, list, 412])
      expect(reply.json()).toMatchObject({ type: 'urn:typeorm-resources:precondition-failed' })
    }
  }
  expect(
    (await request(`PUT ${path}`, { body: { title: 'x' }, headers: { 'If-None-Match': '*', 'If-Match': '*' } })).status,
  ).toBe(412)
  expect((await request(`GET ${path}`, { headers: { 'If-Match': '"stale"' } })).status).toBe(412)
  const { status, headers } = await request(`GET ${path}`, { headers: { 'If-Match': tag } })
  expect([status, headers.etag]).toEqual([200, tag])
  expect((await request(`DELETE ${path}`, { headers: { 'If-Match': `"other", ${tag}` } })).status).toBe(204)
})

const quoted = ', because an ETag has double quotes: send it as in the response, If-Match: '
const existing = { code: 'fr', title: 'France' }
test.each<[headers: Record<string, string>, path: string, detail: string]>([
  [{ 'If-Match': '"stale"' }, 'fr', 'this country does not match If-Match; read it again'],
  [{ 'If-Match': 'W/"a", "b"' }, 'fr', 'this country does not match If-Match; read it again'],
  [{ 'If-Match': 'abc' }, 'fr', `this country does not match If-Match${quoted}"abc"`],
  [{ 'If-Match': "'abc'" }, 'fr', `this country does not match If-Match${quoted}"…"`],
  [{ 'If-Match': '' }, 'fr', `this country does not match If-Match${quoted}"…"`],
  [
    { 'If-Match': 'W/"a"' },
    'fr',
    'this country does not match If-Match, because a weak ETag (W/"…") matches nothing: send that of the record, without W/',
  ],
  [{ 'If-None-Match': '*' }, 'fr', 'this country exists, and If-None-Match: * only permits to create one'],
  [
    { 'If-Match': '"a"', 'If-None-Match': '*' },
    'de',
    'this country does not exist, so it cannot match If-Match; to create it, leave this header out',
  ],
])('the 412 for %j says what the header must be', async (headers, code, detail) => {
  await request('PUT /api/country/fr/', { body: existing, headers: { 'If-None-Match': '*' } })
  const { status, ...reply } = await request(`PUT /api/country/${code}/`, { body: { title: 'x' }, headers })
  expect([status, reply.json()]).toEqual([412, expect.objectContaining({ detail })])
})

test('the 412 for an ETag in If-None-Match names this header', async () => {
  const { path, tag } = await create('paper')
  const reply = await request(`PUT ${path}`, { body: { title: 'x' }, headers: { 'If-None-Match': tag } })
  const detail = 'this paper matches If-None-Match, which only permits to write one that has changed'
  expect([reply.status, reply.json()]).toEqual([412, expect.objectContaining({ detail })])
})

test.each(resources)('%s: of several writers with the same ETag one succeeds', async (resource) => {
  const { path, tag } = await create(resource)
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      request(`PUT ${path}`, { body: { title: `by ${index}` }, headers: { 'If-Match': tag } }),
    ),
  )
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 412)).toHaveLength(11)
  const winner = replies.find(({ status }) => status === 200)?.json() as { title: string }
  const stored = (await request(`GET ${path}`)).json() as { title: string }
  expect(stored.title.replace(/ \d+$/, '')).toBe(winner.title.replace(/ \d+$/, ''))
})

test('requireIfMatch: a write without If-Match gets 428 and changes nothing; if the record does not exist, it gets 404', async () => {
  const { path, tag } = await create('page')
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const reply = await request(`${method} ${path}`, method === 'DELETE' ? {} : { body: { title: 'two' } })
    expect([method, reply.status]).toEqual([method, 428])
  }
  expect((await request('DELETE /api/page/999999/')).status).toBe(404)
  expect((await request(`GET ${path}`)).headers.etag).toBe(tag)
  expect((await request(`DELETE ${path}`, { headers: { 'If-Match': '*' } })).status).toBe(204)
})

test('the ETag does not depend on hidden values', async () => {
  const [first, second] = [await create('draft'), await create('paper', { title: 'one', secret: 'a' })]
  await world.sql('UPDATE "draft" SET "version" = 7')
  await world.sql(`UPDATE "paper" SET "secret" = 'b'`)
  for (const { path, tag } of [first, second]) expect((await request(`GET ${path}`)).headers.etag).toBe(tag)
})

test('the ETag changes with the version, and with columns that do not increment the version', async () => {
  const { path, tag } = await create('page')
  await world.sql('UPDATE "page" SET "version" = 7')
  const later = (await request(`GET ${path}`)).headers.etag
  await world.sql(`UPDATE "page" SET "title" = 'past it'`)
  expect(new Set([tag, later, (await request(`GET ${path}`)).headers.etag]).size).toBe(3)
})

test('a tree: writers with and without If-Match do not deadlock', async () => {
  const { path } = await create('branch')
  const replies = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      request(`PUT ${path}`, { body: { title: `${index}` }, ...(index % 2 === 0 && { headers: { 'If-Match': '*' } }) }),
    ),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
})

test('the ETag depends on the stored value, not on the shown one: a fraction of a second changes it', async () => {
  const [one, other] = [
    await create('paper', { title: 'one', at: '2024-01-01T00:00:00.100Z' }),
    await create('paper', { title: 'one', at: '2024-01-01T00:00:00.200Z' }),
  ]
  await world.sql(`UPDATE "paper" SET "id" = 777 WHERE "id" = ${one.path.split('/')[3]}`)
  expect((await request('GET /api/paper/777/')).headers.etag).not.toBe(one.tag)
  expect(one.tag).not.toBe(other.tag)
})

test('responses without a body and errors have no ETag', async () => {
  const { path } = await create('paper')
  for (const line of ['OPTIONS /api/paper/', `DELETE ${path}`, 'GET /api/paper/999999/', 'GET /api/paper/?nope=1']) {
    expect([line, (await request(line)).headers.etag]).toEqual([line, undefined])
  }
})

describe('lists', () => {
  const lists = [
    '',
    '?count=exact&limit=0',
    '?ordering=-title&limit=1',
    '?after=&limit=1',
    '?title=nobody',
    '?fields=title',
  ]

  test.each(lists)('%s: If-None-Match gets 304 while the response is the same', async (query) => {
    await create('paper', { title: 'first' })
    await create('paper', { title: 'second' })
    const path = `/api/paper/${query}`
    const { headers } = await request(`GET ${path}`)
    const tag = String(headers.etag)
    expect(tag).toMatch(/^W\/"[\w-]+"$/)
    for (const list of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const reply = await request(`${method} ${path}`, { headers: { 'If-None-Match': list } })
        expect([list, reply.status, reply.text, reply.headers.etag]).toEqual([list, 304, '', tag])
        expect([reply.headers['cache-control'], reply.headers.vary]).toEqual([headers['cache-control'], headers.vary])
      }
    }
    const other = await request(`GET ${path}`, { headers: { 'If-None-Match': '"other"' } })
    expect([other.status, other.headers.etag]).toEqual([200, tag])
  })

  test('responses have the same ETag only if they are equal', async () => {
    const texts = new Map<unknown, Set<string>>()
    const read = async (): Promise<void> => {
      for (const query of lists) {
        const { headers, text } = await request(`GET /api/paper/${query}`)
        texts.set(headers.etag, (texts.get(headers.etag) ?? new Set()).add(text))
      }
    }
    await read()
    const { path } = await create('paper', { title: 'zz' })
    await read()
    await request(`PUT ${path}`, { body: { title: 'zzz' } })
    await read()
    expect(texts.size).toBeGreaterThan(lists.length)
    expect([...texts.values()].every(({ size }) => size === 1)).toBe(true)
  })

  test('the ETag does not depend on hidden values', async () => {
    const { path } = await create('paper', { title: 'hidden', secret: 'one' })
    const { headers } = await request('GET /api/paper/?title=hidden')
    await request(`PUT ${path}`, { body: { secret: 'two' } })
    expect((await request('GET /api/paper/?title=hidden')).headers.etag).toBe(headers.etag)
  })

  test('If-Match is ignored', async () => {
    expect((await request('GET /api/paper/', { headers: { 'If-Match': '"other"' } })).status).toBe(200)
  })

  test('a list of more than 1 MiB has no ETag', async () => {
    await world.dataSource.getRepository(Story).save(['a', 'b', 'c'].map((text) => ({ body: text.repeat(400 * KiB) })))
    expect(String((await request('GET /api/story/?limit=2')).headers.etag)).toMatch(/^W/)
    for (const headers of [{}, { 'If-None-Match': '*' }]) {
      const reply = await request('GET /api/story/', { headers })
      expect([reply.status, reply.headers.etag, reply.text.length > MiB]).toEqual([200, undefined, true])
    }
  })
})
