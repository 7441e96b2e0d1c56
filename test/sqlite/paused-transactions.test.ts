import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Column, Entity, PrimaryColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { block } from '../support/block'
import { leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Of the work that waits for its turn after a pause, work in a transaction has every second turn: on SQLite, all other writes wait for its lock. */

/** Number of titles of photos that have been rendered. Rendering one takes a millisecond. */
let rendered = 0

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Photo {
  @PrimaryColumn() id!: number
  @Column({ type: 'text', transformer: { to: (value) => value, from: slowly } }) title!: string
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Tag {
  @PrimaryColumn({ length: 9, transformer: { to: slowly, from: (value) => value } }) name!: string
  @Column({ type: 'integer' }) rank!: number
}

function slowly(value: unknown): unknown {
  block(1)
  if (value === 'photo') rendered += 1
  return value
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Photo, Tag],
    mount: { batch: true },
    before: (app) => {
      app.proxy = true
    },
  })
  const photos = Array.from({ length: 100 }, (_, id) => ({ id, title: 'photo' }))
  await world.dataSource.getRepository(Photo).insert(photos)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const tags = (from: number) => Array.from({ length: 30 }, (_, index) => ({ name: `t${from + index}`, rank: index }))
const lines = (from: number): string =>
  tags(from)
    .map((tag) => `${JSON.stringify(tag)}\n`)
    .join('')
const ndjson = { 'Content-Type': 'application/x-ndjson' }

/** Name of a write, request line, body and headers. */
const arrayWrite = ['an array', 'POST /api/tag/', tags(0), {}] as const
const otherWrites = [
  ['an import', 'POST /api/tag/', lines(100), ndjson],
  ['an upsert', 'POST /api/tag/?on_conflict=name', lines(200), ndjson],
  ['a batch', 'POST /api/-/batch', tags(300).map((body) => ({ method: 'POST', path: '/api/tag/', body })), {}],
] as const
// With sqlite3, other work goes on while a statement runs. Only an array has so few statements that the number below holds.
const writes = leg.driver === 'better-sqlite3' ? [arrayWrite, ...otherWrites] : [arrayWrite]

test.each(writes)('%s does not wait for all work of ten other clients', async (_, line, body, headers) => {
  const agent = new Agent({ keepAlive: true })
  const list = (number: number) =>
    send(world.url, 'GET /api/photo/?limit=100', { agent, headers: { 'X-Forwarded-For': `192.0.2.${number}` } })
  const lists = Array.from({ length: 10 }, (__, number) => list(number))
  await sleep(200)
  const before = rendered
  const written = await send(world.url, line, { agent, body, headers: { ...headers, 'X-Forwarded-For': '192.0.2.99' } })
  const meanwhile = rendered - before
  await Promise.all(lists)
  agent.destroy()
  expect([200, 201]).toContain(written.status)
  // With one of eleven turns for the transaction, 700 to 800 of the 1,000 titles were rendered meanwhile.
  expect(meanwhile).toBeLessThan(500)
})
