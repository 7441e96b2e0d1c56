import { Column, Entity, PrimaryGeneratedColumn, VersionColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

let made = 0
/** SQL default of a column; for an INSERT on SQLite TypeORM calls this function each time. */
const nextCode = (): string => {
  made += 1
  return isSqlite ? `'code ${made}'` : "'code'"
}

@Entity()
@Resource({ auth: permitAll })
class Ticket {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ type: 'varchar', length: 20, default: nextCode }) code!: string
  @Column({ type: 'varchar', length: 20, default: 'plain' }) state!: string
  @Column({ type: 'varchar', length: 40 }) label: string = `label ${Math.random()}`
  @VersionColumn() version!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Ticket] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

test('generated values differ between records, although their statement is compiled once', async () => {
  const replies = await Promise.all([1, 2, 3, 4].map(() => post('ticket', {})))
  const tickets = replies.map((reply) => reply.json() as Ticket)
  const different = (name: keyof Ticket): number => new Set(tickets.map((ticket) => ticket[name])).size
  expect([different('id'), different('label'), different('code')]).toEqual([4, 4, isSqlite ? 4 : 1])
  expect(tickets.map(({ state, version }) => [state, version])).toEqual(tickets.map(() => ['plain', 1]))
})

test('requests that share a compiled statement do not share values', async () => {
  const [first, second] = [
    (await post('ticket', { code: 'a' })).json(),
    (await post('ticket', { code: 'b' })).json(),
  ] as Ticket[]
  await put(`ticket/${first?.id}`, { state: 'x' })
  await put(`ticket/${second?.id}`, { state: 'y' })
  for (const [code, state] of [
    ['a', 'x'],
    ['b', 'y'],
  ]) {
    expect((await get(`ticket?code=${code}`)).json()).toMatchObject({ objects: [{ code, state, version: 2 }] })
    expect((await get(`ticket?code__in=${code},none&state__ne=${code}`)).json()).toMatchObject({ objects: [{ code }] })
  }
})
