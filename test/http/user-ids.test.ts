import { Column, type ColumnOptions, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { basic as basicAuthenticator, custom, Resource, type Rule, UserAccount, userRule } from 'typeorm-resources'
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
    'TypeError: the access rule "custom" must return null, or { id } with the id of a user (a string or a number) or null',
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

test('the id of a login must be a string or a number', async () => {
  @Entity()
  @UserAccount(unhashed)
  class Visitor {
    @PrimaryColumn({
      type: 'varchar',
      length: 20,
      transformer: { to: (id: { code: string }) => id.code, from: (code: string) => ({ code }) },
    })
    id!: { code: string }
    @Column({ length: 20, unique: true }) username!: string
    @Column({ length: 20 }) password!: string
    @Column({ default: false }) admin!: boolean
  }
  const site = await openWorld({
    entities: [Visitor, Task],
    mount: {
      authenticators: [basicAuthenticator(), custom({ scheme: 'Session', authenticate: () => ({ id: id as number }) })],
    },
    seed: async (dataSource) => {
      await dataSource.getRepository(Visitor).insert({ id: { code: 'v' }, username: 'vic', password: 'vic' })
    },
  })
  id = Buffer.from('ab')
  expect((await send(site.url, 'GET /api/task/', { as: 'vic' })).status).toBe(500)
  expect((await send(site.url, 'GET /api/task/', { headers: { Authorization: 'Session x' } })).status).toBe(500)
  expect((site.faults as unknown[]).map(String)).toEqual([
    'TypeError: the key of a user must be a string or a number',
    'TypeError: authenticate() of the scheme Session must return null, or { id } with the id of a user (a string or a number)',
  ])
  await site.close()
})

test.each<readonly [title: string, column: ColumnOptions]>([
  ['binary', isMariadb ? { type: 'binary', length: 16 } : types.binary],
  ['date-time', types.instant],
  ['boolean', { type: Boolean }],
])('a user entity with a %s key is refused at mount', async (_, column) => {
  @Entity()
  @UserAccount(unhashed)
  class Visitor {
    @PrimaryColumn(column as { type: 'int' }) id!: unknown
    @Column({ length: 20, unique: true }) username!: string
    @Column({ length: 20 }) password!: string
    @Column({ default: false }) admin!: boolean
  }
  await expect(openWorld({ entities: [Visitor, Task] })).rejects.toThrow(
    '"id" must be a column of strings or numbers: it is the id of a user',
  )
})

test('owners whose keys cannot be compared are refused at mount', async () => {
  @Entity()
  @Resource({ auth: userRule(), ownerField: 'member' })
  class Owned {
    @PrimaryGeneratedColumn() id!: number
    @ManyToOne(() => Member) member!: Member
  }
  await expect(openWorld({ entities: [Member, Owned] })).rejects.toThrow(
    'Owned: "ownerField" cannot be "member": keys of Member cannot be compared by eq',
  )
})
