import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Passwords whose check has begun, in order. */
const begun: string[] = []

@Entity()
@Resource({ auth: userRule() })
@UserAccount({
  hash: (plain) => `hash of ${plain}`,
  verify: async (plain, hash) => {
    begun.push(plain)
    await setTimeout(30)
    return hash === `hash of ${plain}`
  },
})
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

/** Client address and username of the login with a number at a time. */
type Origin = (number: number, time: number) => { readonly address: string; readonly username: string }

interface AttackKind {
  readonly title: string
  readonly attacker: Origin
  readonly user: Origin
}

const users = 12
const attackers = 64
const ofUsers =
  (flood: number): Origin =>
  (number) => ({
    address: `10.${flood}.1.${number}`,
    username: `user ${flood} ${number}`,
  })

const attackKinds: readonly AttackKind[] = [
  {
    title: 'from one address, each for another username',
    attacker: (number) => ({ address: '10.0.0.1', username: `robot ${number}` }),
    user: ofUsers(0),
  },
  {
    title: 'from one address, always for another username',
    attacker: (number, time) => ({ address: '10.1.0.1', username: `robot ${number} ${time}` }),
    user: ofUsers(1),
  },
  {
    title: 'from an address each, each for another username',
    attacker: (number) => ({ address: `10.2.0.${number}`, username: `robot ${number}` }),
    user: ofUsers(2),
  },
  {
    title: 'from an address each, all for one user',
    attacker: (number) => ({ address: `10.3.0.${number}`, username: 'user 3 0' }),
    user: ofUsers(3),
  },
  {
    title: 'from the address of all users, as behind a proxy, each for another username',
    attacker: (number) => ({ address: '10.4.0.1', username: `robot ${number}` }),
    user: (number) => ({ address: '10.4.0.1', username: `user 4 ${number}` }),
  },
  {
    title: 'from different addresses of one IPv6 network, always for another username',
    attacker: (number, time) => ({
      address: `2001:db8::${number.toString(16)}:${(time % 65_536).toString(16)}`,
      username: `robot ${number} ${time}`,
    }),
    user: (number) => ({ address: `2001:db8:0:${(number + 1).toString(16)}::1`, username: `user 5 ${number}` }),
  },
  {
    title: 'always from another address, all for one user',
    attacker: (number, time) => ({ address: `10.6.${number}.${time % 256}`, username: 'robot' }),
    user: ofUsers(7),
  },
]

const agent = new Agent({ keepAlive: true })
let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [User],
    before: (app) => {
      app.proxy = true
    },
    seed: async (source) => {
      const names = attackKinds.flatMap(({ user }) =>
        Array.from({ length: users }, (_, number) => user(number, 0).username),
      )
      await source.getRepository(User).insert(names.map((username) => ({ username, password: `hash of ${username}` })))
    },
  })
})
afterAll(async () => {
  agent.destroy()
  await world.close()
})

const login = async (origin: ReturnType<Origin>, password: string): Promise<number> => {
  const headers = { Authorization: basic(origin.username, password), 'X-Forwarded-For': origin.address }
  return (await send(world.url, 'GET /api/user/?limit=1', { agent, headers })).status
}

test.each(attackKinds)(
  'while 64 clients send wrong passwords $title, users can log in, also those who have mistyped their password before',
  async (kind) => {
    const origins = Array.from({ length: users }, (_, number) => kind.user(number, 0))
    for (const origin of origins.slice(users / 2)) expect(await login(origin, 'typo')).toBe(401)
    let isOver = false
    const statuses = new Set<number>()
    const attack = async (number: number): Promise<void> => {
      for (let time = 0; !isOver; time++) {
        const status = await login(kind.attacker(number, time), `wrong ${number} ${time}`)
        statuses.add(status)
        if (status === 503) await setTimeout(5)
      }
    }
    const attacks = Array.from({ length: attackers }, (_, number) => attack(number))
    const first = begun.length
    while (begun.length < first + attackers) await setTimeout(10)

    const found: number[] = []
    /** For each user, the number of other checks between the request and its check. */
    const before: number[] = []
    for (const origin of origins) {
      const start = begun.length
      found.push(await login(origin, origin.username))
      before.push(begun.indexOf(origin.username) - start)
    }
    isOver = true
    await Promise.all(attacks)
    expect(found).toEqual(Array(users).fill(200))
    // 32 checks can wait, and the attack fills the queue.
    expect(before.toSorted((one, other) => one - other)[users / 2]).toBeLessThan(16)
    expect([...statuses].toSorted()).toEqual([401, 503])
  },
)

/** Runs `work` while 64 clients, each with its own address and username, send wrong passwords. */
const duringAttack = async <T>(network: string, work: () => Promise<T>): Promise<T> => {
  let isOver = false
  const attack = async (number: number): Promise<void> => {
    while (!isOver) {
      await login({ address: `${network}.${number}`, username: `robot ${number}` }, `wrong ${number}`)
      await setTimeout(5)
    }
  }
  const attacks = Array.from({ length: attackers }, (_, number) => attack(number))
  const start = begun.length
  while (begun.length < start + attackers) await setTimeout(10)
  const result = await work()
  isOver = true
  await Promise.all(attacks)
  return result
}

test('users who share an address log in at once during an attack from other addresses, although their address has failed logins too', async () => {
  const office = '10.9.0.1'
  for (let time = 0; time < 5; time++) expect(await login({ address: office, username: 'user 0 0' }, 'typo')).toBe(401)
  const names = Array.from({ length: 8 }, (_, number) => attackKinds[1]?.user(number, 0).username ?? '')
  const found = await duringAttack('10.9.1', () =>
    Promise.all(names.map((username) => login({ address: office, username }, username))),
  )
  expect(found).toEqual(names.map(() => 200))
})

test('a user whose name was attacked before logs in during an attack from many addresses with few failures each', async () => {
  const username = 'user 0 1'
  const failures = Array.from({ length: 30 }, (_, time) => login({ address: `10.9.2.${time}`, username }, 'wrong'))
  expect(new Set(await Promise.all(failures))).toEqual(new Set([401]))
  const origin = { address: '10.9.4.1', username }
  expect(await duringAttack('10.9.3', () => login(origin, username))).toBe(200)
})
