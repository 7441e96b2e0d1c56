import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, type Rule, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { callTool, connectAgent } from '../support/agent'
import { unhashed } from '../support/unhashed'
import { isMariadb, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Ids of users: they identify the writes of a user and the entries of the audit log. */

/** Has a key that a double cannot represent. */
@Entity()
@UserAccount(unhashed)
class Member {
  @PrimaryColumn({ type: 'bigint', transformer: { to: String, from: (stored: string) => BigInt(stored) } }) id!: bigint
  @Column({ length: 20, unique: true }) username!: string
  @Column({ length: 20 }) password!: string
  @Column({ default: false }) admin!: boolean
}

/** The id that the rule of the resource `note` returns. */
let id: unknown

@Entity()
@Resource({ auth: (() => ({ id })) as Rule })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: '' }) text!: string
}

@Entity()
@Resource({ auth: userRule() })
class Task {
  @PrimaryGeneratedColumn() id!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Note, Task],
    mount: { mcp: true },
    seed: async (dataSource) => {
      const ann = { id: 9007199254740993n, username: 'ann', password: 'ann' }
      await dataSource.getRepository(Member).insert([ann, { id: 7n, username: 'bob', password: 'bob' }])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

test.each(['ann', '', 7, 1.5, null])('a rule can return the id %j', async (value) => {
  id = value
  expect((await send(world.url, 'POST /api/note/', { body: {} })).status).toBe(201)
})

test.each([
  ['undefined', undefined],
  ['an object', { part: 1 }],
  ['NaN', Number.NaN],
  ['a boolean', true],
  ['bytes', Buffer.from('ab')],
])('a rule that returns %s as an id is an error of the application', async (_, value) => {
  id = value
  expect((await send(world.url, 'POST /api/note/', { body: {} })).status).toBe(500)
  expect((world.faults as unknown[]).splice(0).map(String)).toEqual([
    'TypeError: the access rule "custom" must return null, or { id } with the id of a user (a text or a number) or null',
  ])
})

test.each([
  ['ann', '9007199254740993'],
  ['bob', 7],
])('a BigInt is JSON without loss: %s', async (as, shown) => {
  id = null
  expect((await send(world.url, 'GET /api/task/', { as })).status).toBe(200)
  expect((await send(world.url, 'GET /api/-/session', { as })).json()).toEqual({ id: shown, admin: false })
  const agent = await connectAgent(world.url, { Authorization: basic(as) })
  expect(JSON.parse((await callTool(agent, 'describe')).text)).toMatchObject({ user: shown })
  await agent.close()
})

test('a user entity with a binary key is refused at mount', async () => {
  @Entity()
  @UserAccount(unhashed)
  class Visitor {
    @PrimaryColumn(isMariadb ? { type: 'binary', length: 16 } : (types.binary as { type: 'blob' })) id!: Buffer
    @Column({ length: 20, unique: true }) username!: string
    @Column({ length: 20 }) password!: string
    @Column({ default: false }) admin!: boolean
  }
  await expect(openWorld({ entities: [Visitor, Task] })).rejects.toThrow(
    '"id" must be a column of texts or numbers: it is the id of a user',
  )
})
