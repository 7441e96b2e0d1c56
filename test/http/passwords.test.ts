import { setTimeout } from 'node:timers/promises'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Number of checks that are running, of checks that have run at the same time, and of all checks. */
const checks = { running: 0, most: 0, all: 0 }
/** Checks do not end before this promise is resolved. */
let held: Promise<unknown> = Promise.resolve()

@Entity()
@Resource({ auth: userRule() })
@UserAccount({
  hash: (plain) => `hash of ${plain}`,
  verify: async (plain, hash) => {
    checks.running += 1
    checks.all += 1
    checks.most = Math.max(checks.most, checks.running)
    await Promise.all([setTimeout(60), held])
    checks.running -= 1
    return hash === `hash of ${plain}`
  },
})
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ default: true }) active!: boolean
}

@Entity()
@Resource()
class Public {
  @PrimaryGeneratedColumn() id!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [User, Public],
    seed: async (source) => {
      const names = ['ann', 'bob', 'cy']
      await source.getRepository(User).insert(names.map((username) => ({ username, password: `hash of ${username}` })))
    },
  })
})
beforeEach(() => Object.assign(checks, { running: 0, most: 0, all: 0 }))
afterAll(() => world.close())

const status = async (username: string, password = username): Promise<number> => {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return (await send(world.url, 'GET /api/user/?limit=1', { headers: { Authorization: authorization } })).status
}

/** Sends 60 wrong passwords at once. Their checks end after all requests that exceed the queue have been refused. */
async function sendWrongPasswords(during: () => Promise<unknown> = async () => {}): Promise<readonly Reply[]> {
  let release = (): void => {}
  held = new Promise<void>((resolve) => {
    release = resolve
  })
  let refused = 0
  const replies = Array.from({ length: 60 }, async (_, index) => {
    const reply = await send(world.url, 'GET /api/user/', { as: `nobody${index}` })
    if (reply.status === 503) refused += 1
    if (refused === 60 - 34) release()
    return reply
  })
  await during()
  return Promise.all(replies)
}

test('two passwords are checked at a time, 32 wait, further ones get 503; requests without a password succeed', async () => {
  const replies = await sendWrongPasswords(async () => {
    expect((await send(world.url, 'GET /api/public/')).status).toBe(200)
  })
  expect(checks.most).toBe(2)
  const statuses = replies.map((reply) => reply.status)
  expect([401, 503].map((one) => statuses.filter((status) => status === one).length)).toEqual([34, 26])
  expect(checks.all).toBe(34)
})

test('the 503 response has Retry-After', async () => {
  const busy = (await sendWrongPasswords()).find((reply) => reply.status === 503)
  expect([busy?.headers['retry-after'], busy?.json()]).toMatchObject([
    '1',
    { detail: 'too many passwords are being checked' },
  ])
})

test('a right password is hashed once, a wrong one each time', async () => {
  expect([await status('ann'), await status('ann'), await status('ann')]).toEqual([200, 200, 200])
  expect(checks.all).toBe(1)
  expect([await status('ann', 'x'), await status('ann', 'x'), await status('ANN', 'ann')]).toEqual([401, 401, 401])
  expect(checks.all).toBe(4)
})

test('a changed password, a deactivation and a removed password take effect at once', async () => {
  expect(await status('bob')).toBe(200)
  const change = (set: string): Promise<unknown> => world.sql(`UPDATE "user" SET ${set} WHERE "username" = 'bob'`)
  const steps: readonly (readonly [string, number, number])[] = [
    [`"password" = 'hash of other'`, 401, 200],
    [`"active" = ${world.dataSource.options.type === 'postgres' ? 'false' : '0'}`, 401, 401],
    [`"active" = ${world.dataSource.options.type === 'postgres' ? 'true' : '1'}`, 401, 200],
    [`"password" = NULL`, 401, 401],
    [`"password" = 'hash of bob'`, 200, 401],
  ]
  for (const [set, old, changed] of steps) {
    await change(set)
    expect([set, await status('bob'), await status('bob', 'other')]).toEqual([set, old, changed])
  }
})

test('a password that was checked for one user is checked again for another user with the same hash', async () => {
  await world.sql(`UPDATE "user" SET "password" = 'hash of cy' WHERE "username" = 'bob'`)
  expect(await status('cy')).toBe(200)
  expect(checks.all).toBe(1)
  expect(await status('bob', 'cy')).toBe(200)
  expect(checks.all).toBe(2)
})
