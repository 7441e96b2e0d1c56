import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { AfterLoad, Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openPaused } from '../support/paused-client'
import { KiB, longText, MiB, Plain, Story } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'
import type { World } from '../world/world'

/** Sizes of the results of a batch. */

@Entity()
@Resource({ auth: permitAll })
class Shelf {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @OneToMany(
    () => Book,
    ({ shelf }) => shelf,
  )
  books!: Relation<Book>[]
  @OneToMany(
    () => Chart,
    ({ shelf }) => shelf,
  )
  charts!: Relation<Chart>[]
}

@Entity()
@Resource({ auth: permitAll })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) text!: string
  @ManyToOne(
    () => Shelf,
    ({ books }) => books,
    { nullable: false },
  )
  shelf!: Relation<Shelf>
}

/** Takes time to be read. */
@Entity()
@Resource({ auth: permitAll })
class Chart {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Shelf,
    ({ charts }) => charts,
    { nullable: false },
  )
  shelf!: Relation<Shelf>
  @AfterLoad() async wait(): Promise<void> {
    await setTimeout(loadTime)
  }
}
const loadTime = 300

const requests = new EventEmitter()
const openForTest = worldPerTest()

/** Opens a site with a long story, and with stories of 12,000 characters, whose ids begin with 2. */
async function open(limits: object): Promise<World> {
  const world = await openForTest({
    entities: [Story, Plain, Shelf, Book, Chart],
    mount: { batch: true, limits },
    before: (app) => {
      app.use(async (_, next) => {
        await next()
        requests.emit('answered')
      })
    },
  })
  const stories = world.dataSource.getRepository(Story)
  await stories.insert({ body: 'z'.repeat(15 * MiB) })
  for (let index = 0; index < 12; index++) await stories.insert({ body: 'y'.repeat(12_000) })
  return world
}

const create = { method: 'POST', path: '/api/plain/', body: { rank: 1, title: 'new' } }
const keep = (id: number) => ({ method: 'PUT', path: `/api/story/${id}/`, body: {} })
const batch = ({ url }: World, operations: unknown): Promise<Reply> =>
  send(url, 'POST /api/-/batch', { body: operations })
const plains = ({ sql }: World) => sql('SELECT "id" FROM "plain"')

test('Batches: if the results are longer than a record may be, nothing is written', async () => {
  const world = await open({ itemBytes: 30_000 })
  expect((await batch(world, [create, keep(2), keep(3)])).status).toBe(200)
  const refused = await batch(world, [create, keep(2), keep(3), keep(4), keep(5)])
  expect([refused.status, refused.json()]).toEqual([
    413,
    {
      type: 'urn:typeorm-resources:body-too-large',
      title: expect.any(String),
      status: 413,
      detail: 'the results have more than 30000 bytes (limits.itemBytes); send fewer operations',
      index: 3,
    },
  ])
  expect(await plains(world)).toHaveLength(1)
})

test('Batches: the results are counted in bytes', async () => {
  const world = await open({ itemBytes: 30_000 })
  // 12,000 characters of 3 bytes each.
  await world.dataSource.getRepository(Story).update(2, { body: '語'.repeat(12_000) })
  expect((await batch(world, [create, keep(3), keep(4)])).status).toBe(200)
  const refused = await batch(world, [create, keep(2)])
  expect([refused.status, refused.json()]).toMatchObject([413, { index: 1 }])
  expect(await plains(world)).toHaveLength(1)
})

test('Batches: after the time limit of a transaction, nothing is written', async () => {
  const world = await open({ bulkTime: 1 })
  const refused = await batch(world, Array(100).fill(create))
  expect([refused.status, refused.json()]).toMatchObject([413, { detail: expect.stringMatching(/longer than 1 ms/) }])
  expect(await plains(world)).toHaveLength(0)
})

test('Batches: memory for all results is reserved before they are written', async () => {
  const world = await open({ responseBytes: 15 * MiB + 64 * 1024 })
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  const [socket] = await Promise.all([openPaused(world.url, get), once(requests, 'answered')])
  expect((await batch(world, [create, keep(2), keep(3)])).status).toBe(200)
  const stories = Array.from({ length: 12 }, (_, index) => keep(index + 2))
  const refused = await batch(world, [create, ...stories])
  expect([refused.status, refused.headers['retry-after'], refused.json()]).toMatchObject([
    503,
    '1',
    { type: 'urn:typeorm-resources:unavailable', index: expect.any(Number) },
  ])
  expect(await plains(world)).toHaveLength(1)
  socket.destroy()
  const end = Date.now() + 10_000
  let status = 503
  while (status === 503 && Date.now() < end) status = (await batch(world, [create, ...stories])).status
  expect([status, (await plains(world)).length]).toEqual([200, 2])
})

describe('Batches: related records are left out of the results', () => {
  const shelves = 6

  /** Opens a site with shelves, each with two books of 24 KiB and a chart. */
  async function openShelves(limits: object): Promise<World> {
    const world = await open(limits)
    // TypeORM changes the keys of inserted objects on MySQL, so each statement gets objects of its own.
    const ids = Array.from({ length: shelves }, (_, index) => index + 1)
    await world.dataSource.getRepository(Shelf).insert(ids.map((id) => ({ id, name: 'old' })))
    const books = ids.flatMap((id) => [id, id]).map((id) => ({ text: 'x'.repeat(24 * KiB), shelf: { id } }))
    await world.dataSource.getRepository(Book).insert(books)
    await world.dataSource.getRepository(Chart).insert(ids.map((id) => ({ shelf: { id } })))
    return world
  }

  /** Changes all shelves. @returns the number of books or charts in each result */
  async function included(world: World, include: string): Promise<readonly (number | undefined)[]> {
    const operations = Array.from({ length: shelves }, (_, index) => ({
      method: 'PATCH',
      path: `/api/shelf/${index + 1}/?include=${include}`,
      body: { name: 'new' },
    }))
    const reply = await batch(world, operations)
    expect([reply.status, await world.sql(`SELECT DISTINCT "name" FROM "shelf"`)]).toEqual([200, [{ name: 'new' }]])
    const { results } = reply.json() as { readonly results: readonly { readonly body: Partial<Shelf> }[] }
    return results.map(({ body }) => (body.books ?? body.charts)?.length)
  }

  const none = undefined

  test('if those of all results would be too many', async () => {
    expect(await included(await openShelves({ included: 5 }), 'books')).toEqual([2, 2, none, none, none, none])
  })

  test('if those of all results would have too many bytes', async () => {
    const world = await openShelves({ pageBytes: 160 * KiB })
    expect(await included(world, 'books')).toEqual([2, 2, 2, none, none, none])
  })

  test('if the responses in memory have reached the limit', async () => {
    const world = await openShelves({ responseBytes: 15 * MiB + 210 * KiB })
    const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
    const [socket] = await Promise.all([openPaused(world.url, get), once(requests, 'answered')])
    expect(await included(world, 'books')).toEqual([2, 2, 2, none, none, none])
    socket.destroy()
  })

  test('after the time limit', async () => {
    const counts = await included(await openShelves({ bulkTime: 3.5 * loadTime }), 'charts')
    const found = counts.indexOf(none)
    expect(found).toBeGreaterThan(0)
    expect(counts.slice(found)).toEqual(Array(shelves - found).fill(none))
  })
})
