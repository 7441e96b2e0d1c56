import { registerDecorator } from 'class-validator'
import { BeforeInsert, BeforeRemove, BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isPostgres, isSqlite } from '../world/leg'
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

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Room, Guest, IdempotencyKey],
    mount: { batch: true },
    before: (app) => Object.assign(app, { proxy: true }),
    source: { extra: isPostgres ? { max: poolSize } : { connectionLimit: poolSize } } as object,
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
