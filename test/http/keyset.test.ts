import { hash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { AfterLoad, Column, Entity, PrimaryColumn, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm'
import { anonymous, mountResources, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

const open = () => anonymous

@Entity()
@Resource({ paging: 'keyset', auth: open })
class Event {
  @PrimaryColumn() place!: string
  @PrimaryColumn() number!: number
  @Column({ type: 'varchar', nullable: true }) title!: string | null
  @Column('text') story!: string
}

/** Its own field has the name of the token. */
@Entity()
@Resource({ auth: open })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column() after!: number
}

/** What a token tells must not be more than what is shown. */
@Entity()
@Resource({ auth: open })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column('varchar', {
    transformer: { to: (number: string) => number, from: (number: string) => `****${number.slice(-4)}` },
  })
  number!: string
}

@Entity()
@Resource({ auth: open })
class Masked {
  @PrimaryGeneratedColumn() id!: number
  @Column() secret!: string
  @AfterLoad() mask(): void {
    this.secret = '***'
  }
}

/** Values that are hard to keep. */
@Entity()
@Resource({ auth: open })
class Measure {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 1500 }) long!: string
  @Column({ type: 'decimal', precision: 20, scale: 0 }) big!: string
  @Column({ type: isPostgres ? 'double precision' : 'double' }) real!: number
  @Column({ type: 'int', nullable: true }) optional!: number | null
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT ${alias}.${isMariadb ? '`optional`' : '"optional"'})` })
  computed!: number | null
  /** Its column has the name of the computed property below. */
  @Column({ type: 'int', name: 'total' }) sum!: number
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT -${alias}.${isMariadb ? '`total`' : '"total"'})` })
  total!: number
}

interface Page {
  readonly meta: { readonly page: number; readonly next: string; readonly previous: string }
  readonly objects: readonly { readonly id: string }[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Event, Step, Card, Masked, Measure],
    seed: async (source) => {
      const events = ['Lisbon', 'Rome, the city', 'Ö'].flatMap((place) =>
        [1, 2, 3].map((number) => ({ place, number, title: number === 2 ? null : 'same', story: 'x'.repeat(number) })),
      )
      await source.getRepository(Event).insert(events)
      const measures = ['b', 'd', 'f', 'a', 'c'].map((letter, index) => ({
        long: 'x'.repeat(256) + letter,
        big: `900719925474099${index + 1}`,
        real: [1.5, 1e300, -0.1, 0.1 + 0.2, 2 ** 60][index] ?? 0,
        optional: index % 2 === 0 ? null : index,
        sum: index,
      }))
      await source.getRepository(Measure).insert(measures)
      await source.getRepository(Card).insert([{ number: '11112222' }, { number: '33334444' }])
      await source.getRepository(Masked).insert([{ secret: 'first' }, { secret: 'second' }])
      await source.getRepository(Step).insert([{ after: 1 }, { after: 2 }])
    },
  })
})
afterAll(() => world.close())

const { get } = apiOf(() => world.url)
const page = async (path: string): Promise<Page> => (await send(world.url, `GET ${path}`)).json() as Page

const walk = async (start: string): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let at = start; at !== ''; ) {
    const { meta, objects } = await page(at)
    ids.push(...objects.map(({ id }) => id))
    at = meta.next
  }
  return ids
}

test('a resource with keyset paging has tokens in its links without being asked for them', async () => {
  const first = await page('/api/event/?limit=4')
  expect(first.meta).toEqual({
    model: 'event',
    page: 1,
    next: expect.stringMatching(/^\/api\/event\/\?limit=4&page=2&after=[\w-]{16,}$/),
    previous: '',
  })
  expect(await walk('/api/event/?limit=4')).toHaveLength(9)
  // A page of a number is the page of that number still.
  expect((await page('/api/event/?limit=4&page=2')).objects).toEqual((await page(first.meta.next)).objects)
})

test.each(['title', '-title', 'title,-number', '-place,number', '-story'])(
  'a key of several, nulls and ties: %s',
  async (ordering) => {
    const whole = await walk(`/api/event/?ordering=${ordering}&limit=1000`)
    expect(await walk(`/api/event/?ordering=${ordering}&limit=1`)).toEqual(whole)
  },
)

test('pages before the first and behind the last are empty, and lead back', async () => {
  const past = await page('/api/event/?limit=4&page=9&after=')
  expect([past.objects, past.meta.next]).toEqual([[], ''])
  const last = await page(past.meta.previous)
  expect(last.objects.map(({ id }) => id)).toEqual((await walk('/api/event/')).slice(-4))
  expect(last.meta.next).toBe('')
})

test.each(['card/?ordering=number&limit=1&after=', 'masked/?ordering=secret&limit=1&after=', 'masked/?limit=1&after='])(
  'what is stored otherwise than it is shown is in no token: %s',
  async (path) => {
    const { meta } = await page(`/api/${path}`)
    expect(meta.next).toMatch(/&page=2$/)
    expect((await page(meta.next)).objects).toHaveLength(1)
  },
)

test('by a column that is shown as it is stored, a resource with others is paged by keyset', async () => {
  expect((await page('/api/card/?limit=1&after=')).meta.next).toMatch(/&page=2&after=[\w-]+$/)
})

test.each(['long', 'big', 'real', 'optional', 'computed', 'sum', 'total'].flatMap((name) => [name, `-${name}`]))(
  'values that are hard to keep: %s',
  async (ordering) => {
    // MySQL and MariaDB do not sort by all of a long text, so what is compared with is a page by keyset too.
    const whole = await walk(`/api/measure/?ordering=${ordering}&limit=1000&after=`)
    expect(whole).toHaveLength(5)
    if (!ordering.includes('long')) expect(await walk(`/api/measure/?ordering=${ordering}`)).toEqual(whole)
    expect(await walk(`/api/measure/?ordering=${ordering}&limit=1&after=`)).toEqual(whole)
    const past = await page(`/api/measure/?ordering=${ordering}&limit=2&page=4&after=`)
    const back: string[] = []
    for (let at = past.meta.previous; at !== ''; ) {
      const { meta, objects } = await page(at)
      back.unshift(...objects.map(({ id }) => id))
      at = meta.previous
    }
    expect(back).toEqual(whole)
  },
)

test('an order by a column is not that by a computed property of its name', async () => {
  const ids = async (ordering: string): Promise<readonly string[]> => walk(`/api/measure/?ordering=${ordering}`)
  expect(await ids('total')).toEqual((await ids('sum')).toReversed())
})

test.each(['é'.repeat(16), '😀'.repeat(8), 'x'.repeat(16)])(
  'a token of other letters is refused: %s',
  async (token) => {
    expect((await get(`event?after=${encodeURIComponent(token)}`)).status).toBe(400)
  },
)

test('behind texts that no link holds records are counted', async () => {
  await world.dataSource.getRepository(Event).update({ number: 3 }, { story: 'y'.repeat(3000) })
  const whole = await walk('/api/event/?ordering=-story&limit=1000')
  const { meta } = await page('/api/event/?ordering=-story&limit=2')
  expect(meta.next).toMatch(/&limit=2&page=2&after=[\w-]+$/)
  expect(await walk('/api/event/?ordering=-story&limit=2')).toEqual(whole)
})

test('a field of the name "after" is a field', async () => {
  expect((await get('step?after=2')).json()).toMatchObject({ objects: [{ id: 2, after: 2 }] })
  expect((await get('step?after=')).status).toBe(400)
})

/** As one who knows how tokens are made, and has no secret. */
const forge = (order: string, content: unknown): string => {
  // JSON spells numbers that are too large for it.
  const json = JSON.stringify(content).replace('"a",1]', '"a",1e999]')
  const text = Buffer.from(json).toString('base64url')
  return `${hash('sha256', `${order}\n${text}`, 'base64url').slice(0, 16)}${text}`
}

test.each([
  ['another direction', ['sideways', 'a', 1]],
  ['too few values', ['after', 'a']],
  ['an object', ['after', {}, 1]],
  ['no array', 'after'],
  ['no finite number', ['after', 'a', 1]],
])('a token that was made up, with %s, is refused', async (_, content) => {
  const reply = await get(`event?after=${forge('event place number', content)}`)
  expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'after' }] })
})

test('a token that was made up asks for what a filter could, and nothing else', async () => {
  for (const place of ['Rome, the city', "' OR 1=1 --", true, 5]) {
    const reply = await get(`event?after=${forge('event place number', ['after', place, 1])}`)
    expect([200, 400]).toContain(reply.status)
  }
  expect(world.faults).toEqual([])
})

test('with a secret only the site itself can make tokens', async () => {
  const app = new Koa()
  mountResources(app, world.dataSource, { pagingSecret: 'a secret of sixteen' })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const first = (await send(url, 'GET /api/event/?limit=2')).json() as Page
  expect((await send(url, `GET ${first.meta.next}`)).status).toBe(200)
  expect((await send(world.url, `GET ${first.meta.next}`)).status).toBe(400)
  const forged = forge('event place number', ['after', 'Lisbon', isPostgres ? '1' : 1])
  expect((await send(url, `GET /api/event/?after=${forged}`)).status).toBe(400)
  expect((await get(`event?after=${forged}`)).status).toBe(200)
  server.close()
})
