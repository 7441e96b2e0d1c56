import { hash } from '@node-rs/argon2'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Hashes passwords with the default settings. */
@Entity()
@Resource({ auth: userRule() })
@UserAccount()
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ default: true }) active!: boolean
}

const names = ['current', 'cheap', 'costly', 'argon2i', 'no hash', 'cut off', 'null', 'inactive', 'nobody']

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [User],
    seed: async (source) => {
      const current = await hashPassword('right')
      // Programs with argon2 1.0 do not write the version.
      const costly = await hash('right', { memoryCost: 19_456, timeCost: 5, parallelism: 1, version: 0 })
      const argon2i = { algorithm: 1, memoryCost: 4096, timeCost: 3, parallelism: 1 }
      await source.getRepository(User).insert([
        { username: 'current', password: current },
        { username: 'cheap', password: await hash('right', { memoryCost: 1024, timeCost: 1, parallelism: 1 }) },
        { username: 'costly', password: costly.replace('$v=16', '') },
        { username: 'argon2i', password: await hash('right', argon2i) },
        { username: 'no hash', password: 'right' },
        { username: 'cut off', password: current.slice(0, 40) },
        { username: 'null', password: null },
        { username: 'inactive', password: current, active: false },
      ])
    },
  })
})
afterAll(() => world.close())

const login = async (username: string, password: string): Promise<{ status: number; took: number }> => {
  const start = performance.now()
  const headers = { Authorization: basic(username, password) }
  const { status } = await send(world.url, 'GET /api/user/?limit=1', { headers })
  return { status, took: performance.now() - start }
}

test('the check of a wrong password takes the same time for every user, whatever is stored, and for unknown users', async () => {
  // The time for a hash with other parameters is known after its first check.
  for (const name of names) expect((await login(name, 'wrong')).status).toBe(401)
  const fastest = new Map<string, number>()
  const isEqual = (): boolean => Math.max(...fastest.values()) < 1.5 * Math.min(...fastest.values())
  // Other processes can slow a request down, but nothing makes it faster: the fastest of many is the duration.
  for (let round = 0; round < 4 || (round < 80 && !isEqual()); round++) {
    for (const name of ['current', 'cheap', 'costly', 'no hash', 'cut off', 'nobody']) {
      const { status, took } = await login(name, `wrong ${round}`)
      expect(status).toBe(401)
      fastest.set(name, Math.min(took, fastest.get(name) ?? took))
    }
  }
  expect({ isEqual: isEqual(), fastest: Object.fromEntries(fastest) }).toMatchObject({ isEqual: true })
  // While other tests run, a hash takes many times as long.
})

test('a wrong password takes the same time for hashes that have their parameters in another order', async () => {
  const hashed = await hashPassword('right')
  const reordered = hashed.replace('m=19456,t=2,p=1', 't=2,p=1,m=19456')
  const other = await openWorld({
    entities: [User],
    seed: async (source) => {
      await source.getRepository(User).insert([
        { username: 'usual', password: hashed },
        { username: 'reordered', password: reordered },
      ])
    },
  })
  try {
    const timeOf = async (username: string, password: string, expected: number): Promise<number> => {
      const start = performance.now()
      const headers = { Authorization: basic(username, password) }
      expect((await send(other.url, 'GET /api/user/?limit=1', { headers })).status).toBe(expected)
      return performance.now() - start
    }
    await timeOf('reordered', 'right', 200)
    let [usual, slow] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let round = 0; round < 6 || (round < 80 && slow > 1.5 * usual); round++) {
      usual = Math.min(usual, await timeOf('usual', `wrong ${round}`, 401))
      slow = Math.min(slow, await timeOf('reordered', `wrong ${round}`, 401))
    }
    expect(slow).toBeLessThan(1.5 * usual)
  } finally {
    await other.close()
  }
})

test('right passwords are accepted, including hashes with other parameters', async () => {
  const statuses = await Promise.all(names.map(async (name) => [name, (await login(name, 'right')).status]))
  expect(Object.fromEntries(statuses)).toEqual({
    ...Object.fromEntries(names.map((name) => [name, 401])),
    ...{ current: 200, cheap: 200, costly: 200, argon2i: 200 },
  })
})

/** Whether `verify` of {@link Customer} fails. */
let isBroken = false

/** Has functions that hash passwords, of which `verify` fails for a text that is not a hash. */
@Entity()
@Resource({ auth: userRule() })
@UserAccount({
  hash: (plain) => `hash:${plain}`,
  verify: (plain, stored) => {
    if (isBroken || !stored.startsWith('hash:')) throw new Error('not a hash')
    return stored === `hash:${plain}`
  },
})
class Customer {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column({ type: 'varchar' }) password!: string
}

test('a stored text for which verify of the application fails is a wrong password, but a verify that always fails is a fault', async () => {
  const other = await openWorld({
    entities: [Customer],
    seed: async (source) => {
      await source.getRepository(Customer).insert([
        { username: 'ann', password: 'hash:right' },
        { username: 'locked', password: '!' },
      ])
    },
  })
  try {
    const statusOf = async (username: string, password: string): Promise<number> =>
      (await send(other.url, 'GET /api/customer/', { headers: { Authorization: basic(username, password) } })).status
    expect(await statusOf('ann', 'right')).toBe(200)
    for (const name of ['ann', 'locked', 'nobody']) expect([name, await statusOf(name, 'wrong')]).toEqual([name, 401])
    expect(other.faults).toEqual([])
    isBroken = true
    expect(await statusOf('ann', 'wrong')).toBe(500)
  } finally {
    isBroken = false
    await other.close()
  }
})
