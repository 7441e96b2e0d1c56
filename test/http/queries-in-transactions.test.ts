import { setTimeout } from 'node:timers/promises'
import { registerDecorator } from 'class-validator'
import { BeforeInsert, BeforeRemove, BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openPaused } from '../support/paused-client'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Validators and listeners that query through the data source, in as many transactions at the same time as the pool has
 * connections, and more.
 */

const poolSize = 3
const parallel = 2 * poolSize

/** Queries the database, as a validator of uniqueness does. */
function Checked(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'checked',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: { validate: async (name: string) => !(await world.dataSource.getRepository(Room).existsBy({ name })) },
    })
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Room {
  @PrimaryGeneratedColumn() id!: number
  @Checked() @Column({ length: 40, unique: true }) name!: string
}

@Entity()
@Resource({ auth: permitAll })
class Guest {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string

  @BeforeInsert()
  @BeforeUpdate()
  @BeforeRemove()
  async query(): Promise<void> {
    await world.dataSource.getRepository(Guest).countBy({ name: this.name })
  }
}

/** A list with more bytes than the buffers of a connection. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'text' }) text!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Room, Guest, Page, IdempotencyKey],
    mount: { batch: true, limits: { streams: 1 } },
    before: (app) => Object.assign(app, { proxy: true }),
    source: { poolSize } as object,
  })
})
afterAll(() => world.close())

const create = (body: unknown, query = '', headers = {}): Promise<Reply> =>
  send(world.url, `POST /api/room/${query}`, { body, headers })

test.each<[string, (name: string) => Promise<Reply>]>([
  ['POST of an array', (name) => create([{ name }])],
  ['upserts', (name) => create({ name }, '?on_conflict=name')],
  [
    'batches',
    (name) => send(world.url, 'POST /api/-/batch', { body: [{ method: 'POST', path: '/api/room/', body: { name } }] }),
  ],
  ['POST with a key', (name) => create({ name }, '', { 'Idempotency-Key': encodeURIComponent(name) })],
])('%s at the same time: each gets a connection for its validators', async (what, write) => {
  const replies = await Promise.all(Array.from({ length: parallel }, (_, index) => write(`${what} ${index}`)))
  expect(replies.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  expect(await world.dataSource.getRepository(Room).count()).toBeGreaterThanOrEqual(parallel)
})

test('beside a streamed list whose client reads nothing, each write gets a connection for its validators', async () => {
  const pages = Array.from({ length: 400 }, () => ({ text: 'x'.repeat(60_000) }))
  for (let first = 0; first < pages.length; first += 50) {
    await insertRows(world.dataSource, Page, pages.slice(first, first + 50))
  }
  const socket = await openPaused(world.url, 'GET /api/page/?format=ndjson HTTP/1.1\r\nHost: x\r\n\r\n')
  await setTimeout(300)
  const replies = await Promise.all(
    Array.from({ length: parallel * 2 }, (_, index) => {
      const headers = { 'X-Forwarded-For': `192.0.2.${index % 4}` }
      return create([{ name: `beside ${index}` }], '', headers)
    }),
  )
  expect(replies.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  socket.destroy()
})

// On SQLite, a listener needs the manager of its event.
if (!isSqlite) {
  test.each<[string, (id: number) => { readonly line: string; readonly body?: object }]>([
    ['POST', () => ({ line: 'POST /api/guest/', body: { name: 'new' } })],
    ['PATCH', (id) => ({ line: `PATCH /api/guest/${id}/`, body: { name: 'other' } })],
    ['DELETE', (id) => ({ line: `DELETE /api/guest/${id}/` })],
  ])('%s of several clients at the same time: each gets a connection for its listeners', async (_, requestOf) => {
    const rows = Array.from({ length: parallel * 2 }, () => ({ name: 'old' }))
    const { identifiers } = await world.dataSource.getRepository(Guest).insert(rows)
    const replies = await Promise.all(
      identifiers.map(({ id }, index) => {
        const { line, body } = requestOf(Number(id))
        return send(world.url, line, { body, headers: { 'X-Forwarded-For': `192.0.2.${index % 4}` } })
      }),
    )
    expect(replies.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  })
}
