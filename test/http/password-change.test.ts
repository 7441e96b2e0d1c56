import { MinLength } from 'class-validator'
import {
  BeforeUpdate,
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm'
import { basic, custom, hashPassword, type MountOptions, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic as authorization, type SendOptions, send } from '../client'
import { openWorld, type World } from '../world/world'

const path = 'POST /api/-/password'

/** A scheme whose principals have the ids of users, such as that of API keys. */
const key = custom({ scheme: 'Key', authenticate: () => ({ id: 2 }) })

describe('the change of a password', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({ mount: { passwordChange: true, authenticators: [basic(), key] } })
  })
  afterAll(() => world.close())

  const change = (body: unknown, options: SendOptions = { as: 'bob' }) => send(world.url, path, { ...options, body })
  const statusOf = async (name: string, password: string): Promise<number> =>
    (await send(world.url, 'GET /api/-/session', { headers: { Authorization: authorization(name, password) } })).status

  test('the new password is valid at once, and the old one is not, though it was remembered', async () => {
    expect(await statusOf('Zoë', 'Zoë')).toBe(200)
    const reply = await change({ old: 'Zoë', new: 'ein neues Paßwort' }, { as: 'Zoë' })
    expect([reply.status, reply.text, reply.headers['cache-control']]).toEqual([204, '', 'private, no-cache'])
    expect(await statusOf('Zoë', 'Zoë')).toBe(401)
    expect(await statusOf('Zoë', 'ein neues Paßwort')).toBe(200)
    expect(await statusOf('ann', 'ann')).toBe(200)
  })

  test('a form has the JSON in its field "data"', async () => {
    const headers = {
      Authorization: authorization('ann'),
      'Content-Type': 'application/x-www-form-urlencoded',
    }
    const body = new URLSearchParams({ data: '{"old":"ann","new":"ann"}' }).toString()
    expect(await change(body, { headers })).toMatchObject({ status: 204 })
    expect(await statusOf('ann', 'ann')).toBe(200)
  })

  test.each<[string, unknown, readonly (readonly [string, string])[]]>([
    ['a wrong old password', { old: 'no', new: 'x' }, [['old', 'is not the current password']]],
    ['an empty old password', { old: '', new: 'x' }, [['old', 'is not the current password']]],
    [
      'no passwords',
      {},
      [
        ['old', 'is required'],
        ['new', 'is required'],
      ],
    ],
    [
      'values that are not text',
      { old: 1, new: null },
      [
        ['old', 'must be text'],
        ['new', 'must be text that is not empty, of at most 256 characters'],
      ],
    ],
    [
      'an empty new password',
      { old: 'bob', new: '' },
      [['new', 'must be text that is not empty, of at most 256 characters']],
    ],
    [
      'a long new password',
      { old: 'bob', new: 'x'.repeat(257) },
      [['new', 'must be text that is not empty, of at most 256 characters']],
    ],
    ['an unknown field', { old: 'bob', new: 'x', id: 1 }, [['id', 'is not a field; fields: old, new']]],
  ])('%s is refused', async (_, body, errors) => {
    const reply = await change(body)
    expect(reply.status).toBe(400)
    expect(reply.json()).toMatchObject({
      type: 'urn:typeorm-resources:bad-values',
      errors: errors.map(([field, message]) => ({ field, message })),
    })
    expect(await statusOf('bob', 'bob')).toBe(200)
  })

  test.each<[string, SendOptions, number]>([
    ['no credentials', {}, 401],
    ['a wrong password', { headers: { Authorization: authorization('bob', 'no') } }, 401],
    ['an inactive user', { as: 'carl' }, 401],
    ['another scheme', { headers: { Authorization: 'Key x' } }, 403],
    [
      'a page of another origin',
      { headers: { Authorization: authorization('bob'), Origin: 'https://x.example' } },
      403,
    ],
    [
      'a body that is not JSON',
      { headers: { Authorization: authorization('bob'), 'Content-Type': 'text/plain' } },
      415,
    ],
  ])('%s is %s', async (_, options, status) => {
    expect(await change({ old: 'bob', new: 'stolen' }, options)).toMatchObject({ status })
    expect(await statusOf('bob', 'bob')).toBe(200)
  })

  test('of several changes at the same time, one is stored', async () => {
    const names = ['one', 'two', 'three', 'four']
    const replies = await Promise.all(names.map((name) => change({ old: 'bob', new: name })))
    const stored = names.filter((_, index) => replies[index]?.status === 204)
    // The others were refused because the stored hash had changed: before, or after their password was checked.
    expect(replies.every(({ status }) => [204, 400, 401, 409].includes(status))).toBe(true)
    expect(stored).toHaveLength(1)
    for (const name of [...names, 'bob'])
      expect([name, await statusOf('bob', name)]).toEqual([name, stored[0] === name ? 200 : 401])
  })
})

test.each<[MountOptions, string]>([
  [{}, 'POST'],
  [{ passwordChange: false }, 'POST'],
  [{ passwordChange: true }, 'PUT'],
  [{ passwordChange: true }, 'GET'],
])('with %j, %s of the path is left to the application', async (mount, method) => {
  const world = await openWorld({ mount })
  const reply = await send(world.url, `${method} /api/-/password`, { as: 'bob' })
  await world.close()
  expect([reply.status, reply.text]).toEqual([404, 'Not Found'])
})

const updates: string[] = []

/** Not a resource. Its key is a text, and its password is transformed. */
@Entity({ name: 'member account' })
@UserAccount({ username: 'login', password: 'secret' })
class Account {
  @PrimaryColumn({ length: 20, name: 'account key' }) code!: string
  @Column() login!: string
  @Column({
    name: 'the hash',
    transformer: { to: (text: string) => `!${text}`, from: (text: string) => text.slice(1) },
  })
  @MinLength(8)
  secret!: string
  @Column({ default: 'a' })
  @MinLength(3)
  nick!: string
  @VersionColumn() version!: number
  @UpdateDateColumn() updated!: Date
  @BeforeUpdate() noteUpdate(): void {
    updates.push(this.code)
  }
}

@Entity()
@Resource({ auth: userRule() })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Account) account!: Account
}

test('the user entity need not be a resource: its validators of the password apply, its listeners do not', async () => {
  const world = await openWorld({
    entities: [Account, Task],
    mount: { passwordChange: true },
    seed: async (dataSource) => {
      for (const login of ['ann', 'bob']) {
        const secret = await hashPassword(login)
        await dataSource.getRepository(Account).insert({ code: `key of ${login}`, login, secret })
      }
    },
  })
  const change = (body: unknown, password = 'ann') =>
    send(world.url, path, { headers: { Authorization: authorization('ann', password) }, body })
  const short = await change({ old: 'ann', new: 'short' })
  expect(short.json()).toMatchObject({
    errors: [{ field: 'new', message: 'must be longer than or equal to 8 characters' }],
  })
  expect((await change({ old: 'ann', new: 'long enough' })).status).toBe(204)
  expect((await change({ old: 'long enough', new: 'longer than that' }, 'long enough')).status).toBe(204)
  const rows = await world.dataSource.getRepository(Account).find({ order: { login: 'ASC' } })
  await world.close()
  expect(rows.map(({ version }) => version)).toEqual([3, 1])
  expect(updates).toEqual([])
})

/** Its hashes have no salt, and its key has two columns, of which users share the first. */
@Entity()
@Resource({ auth: userRule() })
@UserAccount({ hash: async (text) => `#${text}`, verify: async (text, hash) => hash === `#${text}` })
class Tenant {
  @PrimaryColumn() company!: number
  @PrimaryColumn() position!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

test('users with the same password who share a part of the key keep theirs', async () => {
  const world = await openWorld({
    entities: [Tenant],
    mount: { passwordChange: true },
    seed: async (dataSource) => {
      const rows = ['ann', 'bob'].map((username, position) => ({ company: 1, position, username, password: '#same' }))
      await dataSource.getRepository(Tenant).insert(rows)
    },
  })
  const headers = { Authorization: authorization('ann', 'same') }
  const reply = await send(world.url, path, { headers, body: { old: 'same', new: 'other' } })
  const rows = await world.dataSource.getRepository(Tenant).find({ order: { position: 'ASC' } })
  await world.close()
  expect(reply.status).toBe(204)
  expect(rows.map(({ password }) => password)).toEqual(['#other', '#same'])
})

test('without a user entity, passwordChange is reported at mount', async () => {
  @Entity()
  @Resource()
  class Page {
    @PrimaryGeneratedColumn() id!: number
  }
  const opening = openWorld({ entities: [Page], mount: { passwordChange: true } })
  await expect(opening).rejects.toThrow('"passwordChange" needs users; put @UserAccount() on their entity')
})
