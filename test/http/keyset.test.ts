import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import Koa from 'koa'
import {
  AfterLoad,
  ChildEntity,
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  VirtualColumn,
} from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { listen } from '../support/listen'
import { idsOf, type Page, readPage, readPages } from '../support/pages'
import { Story } from '../support/texts'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ paging: 'keyset', auth: permitAll })
class Event {
  @PrimaryColumn() place!: string
  @PrimaryColumn() number!: number
  @Column({ type: 'varchar', nullable: true }) title!: string | null
  @Column('text') story!: string
}

/** Has a field with the name of the parameter for cursors. */
@Entity()
@Resource({ auth: permitAll })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column() after!: number
}

/** Has a listener and hidden values, which tokens must not reveal. */
@Entity()
@Resource({ auth: permitAll })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column('varchar', {
    transformer: { to: (number: string) => number, from: (number: string) => `****${number.slice(-4)}` },
  })
  number!: string
}

@Entity()
@Resource({ auth: permitAll })
class Plan {
  @PrimaryGeneratedColumn() id!: number
  @Column() secret!: string
}

/** A class with a table of its own, although it extends another entity. */
@Entity()
@Resource({ auth: permitAll })
class Masked extends Plan {
  @AfterLoad() mask(): void {
    this.secret = '***'
  }
}

@Entity()
@TableInheritance({ column: { name: 'kind', type: 'varchar' } })
class Kind extends Plan {}

@ChildEntity()
class MaskedKind extends Kind {
  @AfterLoad() mask(): void {
    this.secret = '***'
  }
}

/** Has values that are difficult to represent exactly in a token. */
@Entity()
@Resource({ auth: permitAll })
class Measure {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 1500 }) long!: string
  @Column({ type: 'decimal', precision: 20, scale: 0 }) big!: string
  @Column({ type: isPostgres ? 'float8' : 'double' }) real!: number
  @Column({ type: 'double precision', nullable: true }) precise!: number | null
  @Column({ type: 'int', nullable: true }) optional!: number | null
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT ${alias}.${isMariadb ? '`optional`' : '"optional"'})` })
  computed!: number | null
  /** Its column has the name of the computed property below. */
  @Column({ type: 'int', name: 'total' }) sum!: number
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT -${alias}.${isMariadb ? '`total`' : '"total"'})` })
  total!: number
}

/** Can be sorted by the values of a related record. */
@Entity()
@Resource({ auth: permitAll })
class Probe {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Measure, { nullable: true }) measure!: Relation<Measure> | null
}

/** Can be sorted by a long text without showing it. */
@Entity()
@Resource({ auth: permitAll })
class Review {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Story) story!: Relation<Story>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Event, Step, Card, Plan, Masked, Kind, MaskedKind, Measure, Probe, Story, Review],
    seed: async (source) => {
      const events = ['Lisbon', 'Rome, the city', 'Ö'].flatMap((place) =>
        [1, 2, 3].map((number) => ({ place, number, title: number === 2 ? null : 'same', story: 'x'.repeat(number) })),
      )
      await source.getRepository(Event).insert(events)
      const measures = ['b', 'd', 'f', 'a', 'c'].map((letter, index) => ({
        long: 'x'.repeat(256) + letter,
        big: `900719925474099${index + 1}`,
        real: [1.5, 1e300, -0.1, 0.1 + 0.2, 2 ** 60][index] ?? 0,
        precise: [1.0531344672440038e-123, 0, 1.0531344672440055e-123, -1.0531344672440038e-123, 2e-124][index] ?? 0,
        optional: index % 2 === 0 ? null : index,
        sum: index,
      }))
      await source.getRepository(Measure).insert(measures)
      await source.getRepository(Probe).insert([1, 2, 3, 4, 5].map((id) => ({ measure: { id } })))
      await source.getRepository(Card).insert([{ number: '11112222' }, { number: '33334444' }])
      for (const entity of [Plan, Masked]) {
        await source.getRepository<Plan>(entity).insert([{ secret: 'first' }, { secret: 'second' }])
      }
      // JSON has six characters for each control character.
      const stories = ['b', 'a'].map((letter) => ({ body: letter + '\u0001'.repeat(100_000) }))
      await source.getRepository(Story).insert(stories)
      await source.getRepository(Review).insert([1, 2, 1].map((id) => ({ story: { id } })))
      await source.getRepository(Step).insert([{ after: 1 }, { after: 2 }])
    },
  })
})
afterAll(() => world.close())

const { get } = apiOf(() => world.url)
const page = (path: string): Promise<Page> => readPage(world.url, path)
const walk = async (path: string): Promise<readonly number[]> => idsOf(await readPages(world.url, path))

test('a resource with keyset paging has tokens in its links without the parameter', async () => {
  const first = await page('/api/event/?limit=4')
  expect(first.meta).toEqual({
    model: 'event',
    page: 1,
    next: expect.stringMatching(/^\/api\/event\/\?limit=4&page=2&after=[\w-]{16,}$/),
    previous: '',
  })
  expect(await walk('/api/event/?limit=4')).toHaveLength(9)
  // A page number still gets the page with this number.
  expect((await page('/api/event/?limit=4&page=2')).objects).toEqual((await page(first.meta.next)).objects)
})

test.each(['title', '-title', 'title,-number', '-place,number', '-story'])(
  'sorting by several columns, with nulls and ties, visits every record once: %s',
  async (ordering) => {
    const whole = await walk(`/api/event/?ordering=${ordering}&limit=1000`)
    expect(await walk(`/api/event/?ordering=${ordering}&limit=1`)).toEqual(whole)
  },
)

test('pages before the first and after the last one are empty, and link back', async () => {
  const past = await page('/api/event/?limit=4&page=9&after=')
  expect([past.objects, past.meta.next]).toEqual([[], ''])
  const last = await page(past.meta.previous)
  expect(last.objects.map(({ id }) => id)).toEqual((await walk('/api/event/')).slice(-4))
  expect(last.meta.next).toBe('')
})

test('the page number in a link with a token is one that the service accepts', async () => {
  const { meta } = await page('/api/event/?limit=1&after=')
  const last = await page(meta.next.replace('page=2', 'page=999999999'))
  expect(last.meta.next).toMatch(/&page=999999999&after=/)
  expect((await page(last.meta.next)).objects).toHaveLength(1)
})

test.each(['card/?ordering=number&limit=1&after=', 'masked/?ordering=secret&limit=1&after=', 'masked/?limit=1&after='])(
  'values that are shown in another form than they are stored are in no token: %s',
  async (path) => {
    const { meta } = await page(`/api/${path}`)
    expect(meta.next).toMatch(/&page=2$/)
    expect((await page(meta.next)).objects).toHaveLength(1)
  },
)

test('listeners of a class with a table of its own do not concern the entity that it extends', async () => {
  expect((await page('/api/plan/?limit=1&after=')).meta.next).toMatch(/&page=2&after=[\w-]+$/)
})

test('a resource with such values is paged by keyset if it is sorted by other columns', async () => {
  expect((await page('/api/card/?limit=1&after=')).meta.next).toMatch(/&page=2&after=[\w-]+$/)
})

const measured = ['long', 'big', 'real', 'precise', 'optional', 'computed', 'sum', 'total']
test.each(
  measured.flatMap((name) => [
    `measure/?ordering=${name}`,
    `measure/?ordering=-${name}`,
    `probe/?ordering=measure__${name}`,
    `probe/?ordering=-measure__${name}`,
  ]),
)('tokens represent values exactly: %s', async (list) => {
  const path = `/api/${list}`
  // MySQL and MariaDB sort by the first bytes of a long text only, so that the results are compared with another walk by keyset.
  const whole = await walk(`${path}&limit=1000&after=`)
  expect(whole).toHaveLength(5)
  if (!list.includes('long')) expect(await walk(path)).toEqual(whole)
  expect(await walk(`${path}&limit=1&after=`)).toEqual(whole)
  const past = await page(`${path}&limit=2&page=4&after=`)
  const back = await readPages(world.url, past.meta.previous, 'previous')
  expect(idsOf(back.toReversed())).toEqual(whole)
})

test('sorting by a column is not affected by a computed property of the same name', async () => {
  const ids = async (ordering: string): Promise<readonly number[]> => walk(`/api/measure/?ordering=${ordering}`)
  expect(await ids('total')).toEqual((await ids('sum')).toReversed())
})

test.each(['é'.repeat(16), '😀'.repeat(8), 'x'.repeat(16)])(
  'a token with invalid characters is refused: %s',
  async (token) => {
    expect((await get(`event?after=${encodeURIComponent(token)}`)).status).toBe(400)
  },
)

test('if a value is too long for a token, the position is counted instead', async () => {
  await world.dataSource.getRepository(Event).update({ number: 3 }, { story: 'y'.repeat(3000) })
  const whole = await walk('/api/event/?ordering=-story&limit=1000')
  const { meta } = await page('/api/event/?ordering=-story&limit=2')
  expect(meta.next).toMatch(/&limit=2&page=2&after=[\w-]+$/)
  expect(await walk('/api/event/?ordering=-story&limit=2')).toEqual(whole)
})

test('values that are too long for a token are not converted to JSON', async () => {
  const stringify = jest.spyOn(JSON, 'stringify')
  const visited = await walk('/api/review/?ordering=story__body&limit=1&after=')
  const lengths = stringify.mock.results.map(({ value }) => String(value).length)
  stringify.mockRestore()
  expect(visited).toEqual([2, 1, 3])
  expect(Math.max(...lengths)).toBeLessThan(10_000)
})

test('a token is not longer than a path may be, however great parameterValue is', async () => {
  const opened = await openWorld({
    entities: [Story, Review],
    seed: async (source) => {
      // The last story fits into no token.
      const stories = ['c', 'b', 'a'].map((letter, index) => ({
        body: letter.repeat([5000, 5001, 10_000][index] ?? 0),
      }))
      await source.getRepository(Story).insert(stories)
      await source.getRepository(Review).insert([1, 2, 3, 1].map((id) => ({ story: { id } })))
    },
    mount: { limits: { parameterValue: 100_000 } },
  })
  const pages = await readPages(opened.url, '/api/review/?ordering=story__body&limit=1&after=')
  await opened.close()
  expect(idsOf(pages)).toEqual([3, 2, 1, 4])
  // MySQL and MariaDB sort by the first 255 characters.
  const lengths = pages.map(({ meta }) => /after=([\w-]+)/.exec(meta.next)?.[1]?.length ?? 0)
  expect(lengths.map((length) => length > 5000)).toEqual(isMariadb ? Array(4).fill(false) : [false, true, true, false])
})

test('a field named "after" is a filter', async () => {
  expect((await get('step?after=2')).json()).toMatchObject({ objects: [{ id: 2, after: 2 }] })
  expect((await get('step?after=')).status).toBe(400)
})

/** Makes a cursor token, as a client can that knows its format, since there is no secret. */
const forge = (order: string, content: unknown): string => {
  // JSON.stringify cannot write numbers that exceed a double.
  const json = JSON.stringify(content).replace('"a",1]', '"a",1e999]')
  const text = Buffer.from(json).toString('base64url')
  return `${hash('sha256', `${order}\n${text}`, 'base64url').slice(0, 16)}${text}`
}

test.each([
  ['another direction', ['sideways', 'a', 1]],
  ['too few values', ['after', 'a']],
  ['an object', ['after', {}, 1]],
  ['a value instead of an array', 'after'],
  ['an infinite number', ['after', 'a', 1]],
])('a forged token with %s is refused', async (_, content) => {
  const reply = await get(`event?after=${forge('event place number', content)}`)
  expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'after' }] })
})

test('a forged token reveals nothing that a filter would not', async () => {
  for (const place of ['Rome, the city', "' OR 1=1 --", true, 5]) {
    const reply = await get(`event?after=${forge('event place number', ['after', place, 1])}`)
    expect([200, 400]).toContain(reply.status)
  }
  expect(world.faults).toEqual([])
})

test('with a secret only the site itself can make tokens', async () => {
  const app = new Koa()
  mountResources(app, world.dataSource, { pagingSecret: 'a secret of sixteen' })
  const server = createServer(app.callback())
  const url = await listen(server)
  const first = (await send(url, 'GET /api/event/?limit=2')).json() as Page
  expect((await send(url, `GET ${first.meta.next}`)).status).toBe(200)
  expect((await send(world.url, `GET ${first.meta.next}`)).status).toBe(400)
  const forged = forge('event place number', ['after', 'Lisbon', isPostgres ? '1' : 1])
  expect((await send(url, `GET /api/event/?after=${forged}`)).status).toBe(400)
  expect((await get(`event?after=${forged}`)).status).toBe(200)
  server.close()
})
