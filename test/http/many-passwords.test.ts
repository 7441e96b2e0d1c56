import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, UserAccount } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** A request has few passwords, because its transaction holds its locks while they are hashed. */

@Entity()
@UserAccount({ username: 'name', password: 'password', admin: 'admin', active: 'active' })
@Resource({ auth: () => ({ id: 1 }), bulk: true })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) name!: string
  @Column({ length: 200 }) password!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Person], mount: { batch: true } })
})
afterAll(() => world.close())

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ name: `name ${from + index}`, password: 'a long password' }))
const post = (body: unknown) => ({ method: 'POST', path: '/api/person/', body })

test.each<[string, string, unknown]>([
  ['an array', 'person/', people(51)],
  ['an array with on_conflict', 'person/?on_conflict=name', people(51)],
  ['a batch of arrays', '-/batch', [post(people(25)), post(people(25, 25)), post(people(1, 50))]],
  ['a batch of records', '-/batch', people(51).map(post)],
])('%s with 51 passwords is 400, and nothing is written', async (_, path, body) => {
  const reply = await send(world.url, `POST /api/${path}`, { body })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('at most 50 records with passwords')])
  expect(await world.sql('SELECT 1 FROM "person"')).toEqual([])
})

test('records without passwords do not count', async () => {
  await send(world.url, 'POST /api/person/', { body: people(1) })
  const body = Array(60).fill({ name: 'name 0', active: false })
  const reply = await send(world.url, 'POST /api/person/?on_conflict=name', { body })
  expect([reply.status, reply.json()]).toMatchObject([200, { meta: { created: 0, updated: 60 } }])
})
