import { hash } from '@node-rs/argon2'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { openWorld, type World } from '../world/world'

/** With the hashing that a site has unless it says otherwise. */
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
      // Older programs write no version for this one, 1.0.
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

test('a wrong password takes the same time for every user and for nobody, whatever is stored', async () => {
  // What a user's hash costs is known from the first time on that it is compared.
  for (const name of names) expect((await login(name, 'wrong')).status).toBe(401)
  const fastest = new Map<string, number>()
  const isEqual = (): boolean => Math.max(...fastest.values()) < 1.5 * Math.min(...fastest.values())
  // Something else may slow down a request, but nothing makes it faster: the fastest of many is what it costs.
  for (let round = 0; round < 4 || (round < 40 && !isEqual()); round++) {
    for (const name of ['current', 'cheap', 'costly', 'no hash', 'cut off', 'nobody']) {
      const { status, took } = await login(name, `wrong ${round}`)
      expect(status).toBe(401)
      fastest.set(name, Math.min(took, fastest.get(name) ?? took))
    }
  }
  expect({ isEqual: isEqual(), fastest: Object.fromEntries(fastest) }).toMatchObject({ isEqual: true })
  // Beside other tests a hash takes many times as long.
}, 120_000)

test('right passwords let in, with hashes of other parameters too', async () => {
  const statuses = await Promise.all(names.map(async (name) => [name, (await login(name, 'right')).status]))
  expect(Object.fromEntries(statuses)).toEqual({
    ...Object.fromEntries(names.map((name) => [name, 401])),
    ...{ current: 200, cheap: 200, costly: 200, argon2i: 200 },
  })
})
